"""Reading a history over HTTP without the permission FullHistory."""

from datetime import timedelta
from typing import Any

import pytest

from sophon.learning.trajectories import Trajectory
from sophon.messages import Message, ToolCall
from sophon.stores.grants.contract import StandingGrant
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.texts.large_text import text_id
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite
from sophon.turn.history_redaction import HIDDEN

WITHOUT = {
    "Permissions": {
        "Users": {"bob": {"Level": "ZeroTrust"}, "olga": {"Level": "ZeroTrust"}},
        "Levels": {"ZeroTrust": {"Features": ["Chat", "Export"]}},
    }
}
LARGE = "salary " * 9000
RECORDS = [
    SessionRecord("message", "t", Message("user", "what does Ada earn? key AKIA" + "IOSFODNN7EXAMPLE")),
    SessionRecord("message", "t", Message("assistant", "", [ToolCall("c", "files.read", {"path": "salary.txt"})])),
    SessionRecord("message", "t", Message("tool", "salary: 7", tool_call_id="c")),
    SessionRecord("message", "t", Message("assistant", LARGE)),
]


@pytest.fixture
async def api(serve: Any) -> Any:
    found = await serve(settings=WITHOUT)
    for user in ("ada", "bob"):
        await found.host.services.store.sessions.append(f"of-{user}", RECORDS, owner=user)
    return found


@pytest.mark.parametrize(("user", "sees"), [("ada", True), ("bob", False)])
async def test_messages_are_redacted_without_the_permission(api: Any, user: str, sees: bool) -> None:
    client = await api.open(user)
    items = (await client.get(f"/api/sessions/of-{user}/messages")).json()["items"]
    one = (await client.get(f"/api/sessions/of-{user}/messages/3")).json()

    assert items[1]["tool_calls"][0]["arguments"] == {"path": "salary.txt" if sees else HIDDEN}
    assert items[2]["content"] == one["content"] == ("salary: 7" if sees else HIDDEN)
    assert items[0]["content"].startswith("what does Ada earn?")
    assert ("AKIA" in items[0]["content"]) is sees
    assert items[3]["content"] == LARGE


@pytest.mark.parametrize("kind", ["json", "markdown", "text"])
async def test_an_export_is_redacted_too(api: Any, kind: str) -> None:
    mine = (await (await api.open("bob")).get(f"/api/sessions/of-bob/export?format={kind}")).text
    whole = (await (await api.open("ada")).get(f"/api/sessions/of-ada/export?format={kind}")).text
    assert "salary.txt" in whole
    assert not any(each in mine for each in ("salary.txt", "salary: 7", "AKIA"))


async def test_an_operator_without_it_reads_no_text_of_others(api: Any) -> None:
    olga = await api.open("olga")
    answers = [await olga.get(f"/api/sessions/of-ada/{each}") for each in ("messages", "events", "export")]
    assert [each.status_code for each in answers] == [200] * 3
    assert "salary" not in "".join(each.text for each in answers)
    assert (await olga.get(f"/api/sessions/of-ada/texts/{text_id(LARGE)}")).status_code == 404


async def test_a_large_text_is_shown_if_it_is_a_message_and_no_result(api: Any) -> None:
    texts = api.host.services.store.texts
    for each in (LARGE, RESULT := "result " * 9000):
        await texts.add("of-bob", {text_id(each): each})
        await texts.add("of-ada", {text_id(each): each})
    bob, ada = await api.open("bob"), await api.open("ada")

    assert (await bob.get(f"/api/sessions/of-bob/texts/{text_id(LARGE)}")).json()["text"] == LARGE
    assert (await bob.get(f"/api/sessions/of-bob/texts/{text_id(RESULT)}")).status_code == 404
    assert (await ada.get(f"/api/sessions/of-ada/texts/{text_id(RESULT)}")).json()["text"] == RESULT


async def test_tasks_of_others_are_listed_without_their_texts(api: Any) -> None:
    ada, olga = await api.open("ada"), await api.open("olga")
    task = (await ada.post("/api/sessions/of-ada/messages", json={"content": "salary?"})).json()["task_id"]
    await api.until(task, "completed")
    mine = (await ada.get(f"/api/tasks/{task}")).json()
    [listed] = (await olga.get("/api/tasks?everything=true")).json()["items"]

    assert (mine["text"], mine["answer"]) == ("salary?", "SALARY?")
    assert (listed["text"], listed["answer"], listed["status"]) == (HIDDEN, HIDDEN, "completed")
    assert "SALARY" not in (await olga.get(f"/api/tasks/{task}/events")).text


async def test_an_approval_in_advance_does_not_show_the_arguments_of_its_call(api: Any) -> None:
    services = api.host.services
    now = services.clock.now()
    await services.store.grants.add(
        StandingGrant(
            "grt_1", "always", "ada", "", "pay", "high", {}, "to: salary", "ada", now, now + timedelta(days=1)
        )
    )
    ada, olga = await api.open("ada"), await api.open("olga")

    assert (await ada.get("/api/grants")).json()["items"][0]["covers"] == "to: salary"
    assert (await olga.get("/api/grants?everything=true")).json()["items"][0]["covers"] == HIDDEN
    assert (await olga.delete("/api/grants/grt_1")).json()["covers"] == HIDDEN


async def test_what_is_learnt_from_turns_of_others_does_not_show_their_texts(api: Any) -> None:
    services = api.host.services
    found = Trajectory("t1", "of-ada", "ada", services.clock.now(), "salary?", "SALARY?")
    await services.store.trajectories.add([TrajectoryWrite(found, 10)])
    ada, olga = await api.open("ada"), await api.open("olga")
    [listed] = (await olga.get("/api/trajectories?everything=true")).json()["items"]

    assert (await ada.get("/api/trajectories/t1")).json()["request"] == "salary?"
    assert (listed["request"], listed["reply"]) == (HIDDEN, HIDDEN)
    assert (await olga.get("/api/trajectories/t1")).json()["reply"] == HIDDEN
    assert (await olga.get("/api/trajectories?everything=true&like=salary")).status_code == 403
