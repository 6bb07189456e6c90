"""Schedules over HTTP: made, listed, changed, paused and removed, and nobody else's business."""

import httpx
import pytest

from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.store.runs.contract import InboundKey, Run


async def make(client: httpx.AsyncClient, **body: object) -> httpx.Response:
    return await client.post("/api/schedules", json={"text": "tell me the news", "cron": "0 8 * * *", **body})


async def test_a_schedule_is_made_changed_paused_resumed_and_removed(api, ada: httpx.AsyncClient) -> None:
    answer = await make(ada, session_id="s", time_zone="Europe/Vienna")
    assert answer.status_code == 201
    made = answer.json()
    assert (made["user"], made["session_id"], made["state"]) == ("ada", "s", "active")
    assert made["runs"] == "every day at 08:00 (Europe/Vienna)"
    assert len(made["next"]) == 3
    path = f"/api/schedules/{made['schedule_id']}"

    changed = (await ada.patch(path, json={"text": "tell me the weather", "cron": "30 9 * * 1-5"})).json()
    assert (changed["text"], changed["runs"]) == ("tell me the weather", "Monday to Friday at 09:30 (Europe/Vienna)")
    paused = (await ada.patch(path, json={"state": "paused"})).json()
    assert (paused["state"], paused["next"]) == ("paused", [])
    assert (await ada.patch(path, json={"state": "active"})).json()["state"] == "active"
    assert [each["schedule_id"] for each in (await ada.get("/api/schedules")).json()["items"]] == [made["schedule_id"]]
    assert (await ada.delete(path)).json() == {"ok": True}
    assert (await ada.get(path)).status_code == 404


@pytest.mark.parametrize(
    "body",
    [{"cron": "x"}, {"every": "daily"}, {"cron": None}, {"time_zone": "Mars"}, {"misfire": "never"}, {"text": " "}],
)
async def test_what_is_no_schedule_is_refused_and_makes_no_session(api, ada: httpx.AsyncClient, body: dict) -> None:
    before = (await ada.get("/api/sessions")).json()["items"]
    assert (await make(ada, **body)).status_code == 400
    assert (await ada.get("/api/sessions")).json()["items"] == before


async def test_a_schedule_of_another_user_does_not_exist_except_for_operators(api, ada, bob, olga) -> None:
    made = (await make(ada)).json()
    path = f"/api/schedules/{made['schedule_id']}"
    assert (await bob.get("/api/schedules")).json() == {"items": []}
    assert (await bob.get("/api/schedules?everything=true")).status_code == 403
    assert [(await bob.request(method, path)).status_code for method in ("GET", "DELETE")] == [404, 404]
    assert (await bob.patch(path, json={"state": "paused"})).status_code == 404
    assert len((await olga.get("/api/schedules?everything=true")).json()["items"]) == 1
    assert (await olga.patch(path, json={"text": "pay olga"})).status_code == 400
    assert (await olga.patch(path, json={"state": "paused"})).json()["state"] == "paused"
    assert (await olga.delete(path)).status_code == 200


async def test_a_schedule_has_its_last_firings_and_shows_no_run_of_somebody_else(api, ada, bob) -> None:
    made = (await make(ada, session_id="s")).json()
    runs, path = api.host.services.store.runs, f"/api/schedules/{made['schedule_id']}"
    assert (await ada.get(path)).json()["firings"] == []
    session = (await stored_schedules(api.host.services.store).find(made["schedule_id"])).session_id
    for name, owner in (("mine", "ada"), ("other", "bob")):
        key = InboundKey("schedule", made["schedule_id"], f"2026-01-01T08:00:00+00:00 {name}")
        await runs.accept(Run(name, session, owner, "hub", {}, "x", {}), key)
    assert [(each["task_id"], each["outcome"]) for each in (await ada.get(path)).json()["firings"]] == [
        ("mine", "queued")
    ]
    assert (await bob.get(path)).status_code == 404
