"""Replays over HTTP: own turns only, chains for operators, one at a time."""

from typing import Any

import httpx
import pytest

from sophon import ModelRequest
from sophon.testing import FunctionModel
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.features.traces.replay_operations import MAX_REPLAYS
from sophon_hosting.store.runs.contract import Run
from tests.hosting.http import conftest


@pytest.fixture
async def turn(api: Any, ada: httpx.AsyncClient) -> str:
    sent = (await ada.post("/api/tasks", json={"content": "hello", "session_id": "s"})).json()
    await api.until(sent["task_id"], "completed")
    return str(sent["task_id"])


async def test_a_turn_and_its_replay_are_returned_side_by_side(api: Any, ada: httpx.AsyncClient, turn: str) -> None:
    before = (await ada.get("/api/sessions/s/messages")).json()
    found = (await ada.post(f"/api/traces/{turn}/replay", json={})).json()
    assert found["message"] == "hello"
    assert found["original"]["answer"] == found["replay"]["answer"]
    assert found["replay"]["status"] == "completed"
    assert found["replay"]["chain"] == "twelve"
    assert "charged" in found["charged"]
    assert (await ada.get("/api/sessions/s/messages")).json() == before
    assert (await ada.get("/api/traces")).json()["items"] == []


async def test_only_own_turns_are_replayed(ada: httpx.AsyncClient, bob: Any, olga: Any, turn: str) -> None:
    for client in (bob, olga):
        refused = await client.post(f"/api/traces/{turn}/replay", json={})
        unknown = await client.post("/api/traces/unknown/replay", json={})
        assert (refused.status_code, unknown.status_code) == (404, 404)
        assert refused.json()["error"]["message"].replace(turn, "unknown") == unknown.json()["error"]["message"]


async def test_a_turn_in_a_session_of_somebody_else_is_not_replayed(api: Any, ada: httpx.AsyncClient) -> None:
    await api.host.services.store.runs.accept(Run("r", "g", "ada"), session_owner="group")
    assert (await ada.post("/api/traces/r/replay", json={})).status_code == 404


async def test_operators_choose_the_chain(api: Any, ada: httpx.AsyncClient, olga: httpx.AsyncClient, turn: str) -> None:
    assert (await ada.post(f"/api/traces/{turn}/replay", json={"chain": "clawft"})).status_code == 403
    assert (await ada.get("/api/replay-choices")).json()["chains"] == []
    own = (await olga.post("/api/tasks", json={"content": "hello", "session_id": "o"})).json()["task_id"]
    await api.until(own, "completed")
    found = (await olga.post(f"/api/traces/{own}/replay", json={"chain": "clawft"})).json()
    assert found["replay"]["chain"] == "clawft"
    choices = (await olga.get("/api/replay-choices")).json()
    assert "clawft" in choices["chains"]
    model = choices["models"][0]
    assert (await olga.post(f"/api/traces/{own}/replay", json={"model": model})).json()["replay"]["model"] == model


@pytest.mark.parametrize(
    "body",
    [
        {"model": "gpt-0"},
        {"model": ""},
        {"model": 5},
        {"chain": "x" * 1000},
        {"tools": True},
        [],
        {"model": None, "a": 1},
    ],
)
async def test_wrong_bodies_get_one_error(ada: httpx.AsyncClient, turn: str, body: object) -> None:
    answer = await ada.post(f"/api/traces/{turn}/replay", json=body)
    assert answer.status_code in (400, 403, 404)
    assert "\n" not in answer.json()["error"]["message"]


async def test_a_user_has_one_replay_at_a_time(api: Any, ada: httpx.AsyncClient, turn: str) -> None:
    for running in ({"ada"}, {f"user-{number}" for number in range(MAX_REPLAYS)}):
        api.host.replaying.update(running)
        refused = await ada.post(f"/api/traces/{turn}/replay", json={})
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "replay_busy")
        assert int(refused.headers["Retry-After"]) > 0
        api.host.replaying.clear()
    assert (await ada.post(f"/api/traces/{turn}/replay", json={})).status_code == 200
    assert api.host.replaying == set()


async def test_a_replay_counts_as_a_message(serve: Any) -> None:
    api = await serve(settings={"Guards": {"RateLimit": {"Enabled": True, "ClientMessagesPerMinute": 2}}})
    ada = await api.open("ada")
    sent = (await ada.post("/api/tasks", json={"content": "hello", "session_id": "s"})).json()
    await api.until(sent["task_id"], "completed")
    codes = [(await ada.post(f"/api/traces/{sent['task_id']}/replay", json={})).status_code for _ in range(2)]
    assert codes == [200, 429]


async def test_who_may_not_choose_a_model_replays_with_that_of_the_routing(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(request: ModelRequest) -> str:
        return "hello"

    monkeypatch.setitem(conftest.USERS, "token-of-chat", User("ada", scopes=frozenset({"Chat"})))
    api = await serve(models=[FunctionModel(answer, name="one"), FunctionModel(answer, name="two")])
    ada, limited = await api.open("ada"), await api.open("chat")
    task = (await ada.post("/api/tasks", json={"content": "hello", "session_id": "s", "model": "two"})).json()
    await api.until(task["task_id"], "completed")
    path = f"/api/traces/{task['task_id']}/replay"
    assert (await limited.get("/api/replay-choices")).json()["models"] == []
    refused = await limited.post(path, json={"model": "two"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "scope_needed")
    asked = [(await each.post(path, json={})).json()["replay"]["model"] for each in (ada, limited)]
    assert asked == ["two/two", "one/one"]
