"""Branches over HTTP: an answer is made again, a message edited, a conversation forked; the rest stays as it was."""

import httpx
import pytest

from sophon import ModelRequest
from sophon.errors import InputError
from sophon.stores.sessions.contract import NewSession
from sophon.stores.sessions.copy_limits import MAX_SESSIONS
from sophon.testing import FunctionModel
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.client_api.caller import Caller


async def ask(api, client: httpx.AsyncClient, content: str, session: str = "s", **more) -> dict:
    answer = await client.post(f"/api/sessions/{session}/messages", json={"content": content, **more})
    assert answer.status_code in (200, 202), answer.text
    await api.until(answer.json()["task_id"], "completed")
    return answer.json()


async def again(api, client: httpx.AsyncClient, task: str, session: str = "s", **body) -> dict:
    answer = await client.post(f"/api/sessions/{session}/tasks/{task}/regenerate", json=body)
    assert answer.status_code in (200, 202), answer.text
    await api.until(answer.json()["task_id"], "completed")
    return answer.json()


async def texts(client: httpx.AsyncClient, session: str) -> list[str]:
    return [each["content"] for each in (await client.get(f"/api/sessions/{session}/messages")).json()["items"]]


async def branches(client: httpx.AsyncClient, session: str) -> list[dict]:
    answer = await client.get(f"/api/sessions/{session}/branches")
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def test_an_edited_message_begins_a_branch_and_the_old_one_stays(api, ada) -> None:
    await ask(api, ada, "one")
    second = await ask(api, ada, "two")
    await ask(api, ada, "three")
    edited = await ask(api, ada, "2", replaces=second["task_id"])
    assert edited["session_id"] != "s"
    assert await texts(ada, edited["session_id"]) == ["one", "ONE", "2", "2"]
    assert await texts(ada, "s") == ["one", "ONE", "two", "TWO", "three", "THREE"]
    assert await branches(ada, "s") == [{"seq": 3, "options": ["s", edited["session_id"]], "index": 0}]
    assert await branches(ada, edited["session_id"]) == [{"seq": 3, "options": ["s", edited["session_id"]], "index": 1}]
    listed = (await ada.get("/api/sessions")).json()
    assert ([each["session_id"] for each in listed["items"]], listed["total"]) == ([edited["session_id"]], 1)
    shown = listed["items"][0]
    assert (shown["forked_from"], shown["forked_at"], shown["conversation"]) == ("s", 2, "s")


async def test_a_message_is_answered_again_with_another_model(serve) -> None:
    asked: list[tuple[str, list[str]]] = []

    def model(name: str) -> FunctionModel:
        async def answer(request: ModelRequest) -> str:
            asked.append((name, [each.content for each in request.messages if each.role != "system"]))
            return f"{name} {len(asked)}"

        return FunctionModel(answer, name=name)

    api = await serve(models=[model("first"), model("second")])
    ada = await api.open("ada")
    await ask(api, ada, "hello")
    told = await ask(api, ada, "and?", planning="Never")
    repeated = await again(api, ada, told["task_id"], model="second")
    assert asked[-1] == ("second", ["hello", "first 1", "and?"])
    assert await texts(ada, repeated["session_id"]) == ["hello", "first 1", "and?", "second 3"]
    run = await api.host.services.store.runs.get(repeated["task_id"])
    assert (run.options["model"], run.options["planning"]) == ("second", "Never")


async def test_the_first_message_can_be_answered_again(api, ada) -> None:
    first = await ask(api, ada, "one")
    repeated = await again(api, ada, first["task_id"])
    assert await texts(ada, repeated["session_id"]) == ["one", "ONE"]
    third = await again(api, ada, repeated["task_id"], repeated["session_id"])
    ways = ["s", repeated["session_id"], third["session_id"]]
    assert await branches(ada, "s") == [{"seq": 1, "options": ways, "index": 0}]


async def test_a_copied_turn_is_answered_again_too_also_when_its_task_is_gone(api, ada) -> None:
    first = await ask(api, ada, "one")
    second = await ask(api, ada, "two")
    edited = await ask(api, ada, "2", replaces=second["task_id"])
    repeated = await again(api, ada, first["task_id"], edited["session_id"])
    assert await texts(ada, repeated["session_id"]) == ["one", "ONE"]
    runs = api.host.services.store.runs
    assert await runs.expire(api.host.services.clock.now()) >= 3
    repeated = await again(api, ada, first["task_id"])
    assert await texts(ada, repeated["session_id"]) == ["one", "ONE"]


async def test_the_same_request_makes_one_branch(api, ada) -> None:
    first = await ask(api, ada, "one")
    one = await again(api, ada, first["task_id"], client_message_id="m1")
    same = await again(api, ada, first["task_id"], client_message_id="m1")
    assert (one["task_id"], one["session_id"]) == (same["task_id"], same["session_id"])
    edited = await ask(api, ada, "1", replaces=first["task_id"], client_message_id="m2")
    assert edited == await ask(api, ada, "1", replaces=first["task_id"], client_message_id="m2") | {"position": 0}
    assert len((await branches(ada, "s"))[0]["options"]) == 3


async def test_a_turn_that_runs_is_refused_and_nothing_changes(api, ada) -> None:
    running = (await ada.post("/api/sessions/s/messages", json={"content": "wait"})).json()["task_id"]
    await api.until(running, "running")
    for path, body in (
        (f"/api/sessions/s/tasks/{running}/regenerate", {}),
        ("/api/sessions/s/messages", {"content": "x", "replaces": running}),
        ("/api/sessions/s/fork", {"task_id": running}),
        ("/api/sessions/s/fork", {}),
    ):
        refused = await ada.post(path, json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "busy"), path
    queued = (await ada.post("/api/sessions/s/messages", json={"content": "next"})).json()["task_id"]
    refused = await ada.post(f"/api/sessions/s/tasks/{queued}/regenerate", json={})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "busy")
    assert len(await api.host.services.store.sessions.list()) == 1
    api.release.set()
    await api.until(queued, "completed")
    assert len(await branches(ada, (await again(api, ada, running))["session_id"])) == 1


async def test_a_full_queue_leaves_no_branch(serve) -> None:
    api = await serve(settings={"Queue": {"Capacity": 1}})
    ada = await api.open("ada")
    first = await ask(api, ada, "one")
    await api.host.queue.pause()
    await ada.post("/api/sessions/other/messages", json={"content": "x"})
    refused = await ada.post(f"/api/sessions/s/tasks/{first['task_id']}/regenerate", json={})
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "queue_full")
    assert await branches(ada, "s") == []
    assert len(await api.host.services.store.sessions.list()) == 2


async def test_only_the_owner_branches_and_others_learn_nothing(api, ada, bob, olga) -> None:
    first = await ask(api, ada, "secret")
    for session, task in (("s", first["task_id"]), ("nowhere", first["task_id"]), ("s", "nothing")):
        answers = [
            await bob.post(f"/api/sessions/{session}/tasks/{task}/regenerate", json={}),
            await bob.get(f"/api/sessions/{session}/branches"),
            await bob.post(f"/api/sessions/{session}/fork", json={"task_id": task}),
            await bob.post("/api/tasks", json={"content": "x", "session_id": session, "replaces": task}),
        ]
        for answer in answers:
            expected = f"there is no session {session!r}"
            assert (answer.status_code, answer.json()["error"]["message"]) == (404, expected)
    refused = await olga.post(f"/api/sessions/s/tasks/{first['task_id']}/regenerate", json={})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert [each.id for each in await api.host.services.store.sessions.list()] == ["s"]
    # A task of one's own in a session of one's own that it is not part of.
    mine = await ask(api, bob, "mine", "t")
    await ask(api, bob, "more", "u")
    refused = await bob.post(f"/api/sessions/u/tasks/{mine['task_id']}/regenerate", json={})
    assert refused.status_code == 404


async def test_sessions_that_two_users_named_alike_have_branches_of_their_own(api, ada, bob) -> None:
    await ask(api, ada, "ada's")
    told = await ask(api, bob, "bob's")
    repeated = await again(api, bob, told["task_id"])
    assert (await branches(bob, "s"))[0]["options"] == ["s", repeated["session_id"]]
    shown = (await bob.get(f"/api/sessions/{repeated['session_id']}")).json()
    assert (shown["forked_from"], shown["conversation"], shown["owner"]) == ("s", "s", "bob")
    assert await branches(ada, "s") == []
    assert (await bob.delete("/api/sessions/s")).status_code == 200
    assert await texts(ada, "s") == ["ada's", "ADA'S"]


@pytest.mark.parametrize(
    "body",
    [
        {"content": "x", "replaces": 5},
        {"content": "x", "replaces": ""},
        {"content": "  ", "replaces": "TASK"},
        {"content": "x", "replaces": "x" * 5000},
        {"content": "x", "replaces": "' or 1=1 --"},
        {"content": "x", "replaces": "\x00\u200b\n"},
        {"content": "x", "replaces": "TASK", "model": "nothing/like-it"},
        {"content": "x", "replaces": "TASK", "planning": "Sometimes"},
    ],
)
async def test_hostile_requests_get_one_clear_error_and_leave_no_branch(api, ada, body) -> None:
    first = await ask(api, ada, "one")
    body = {name: first["task_id"] if value == "TASK" else value for name, value in body.items()}
    refused = await ada.post("/api/sessions/s/messages", json=body)
    assert refused.status_code in (400, 404), refused.text
    assert refused.json()["error"]["code"] in ("input", "not_found")
    assert [each.id for each in await api.host.services.store.sessions.list()] == ["s"]


async def test_a_replaced_message_needs_the_session_it_is_of(api, ada) -> None:
    first = await ask(api, ada, "one")
    refused = await ada.post("/api/tasks", json={"content": "x", "replaces": first["task_id"]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "input")


async def test_a_tool_call_is_not_answered_again(api, ada) -> None:
    called = await ada.post("/api/tools/calculator/call", json={"arguments": {"expression": "1+1"}, "session_id": "s"})
    await api.until(called.json()["task_id"], "completed")
    refused = await ada.post(f"/api/sessions/s/tasks/{called.json()['task_id']}/regenerate", json={})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "input")


async def test_a_fork_up_to_a_turn_is_listed_beside_the_first(api, ada) -> None:
    first = await ask(api, ada, "one")
    await ask(api, ada, "two")
    forked = await ada.post("/api/sessions/s/fork", json={"task_id": first["task_id"]})
    assert (forked.status_code, forked.json()["forked_from"], forked.json()["conversation"]) == (201, "s", None)
    copy = forked.json()["session_id"]
    assert await texts(ada, copy) == ["one", "ONE"]
    assert (await ada.get("/api/sessions")).json()["total"] == 2
    both = await ada.post("/api/sessions/s/fork", json={"task_id": first["task_id"], "upto": 1})
    assert both.status_code == 400
    assert (await ada.delete("/api/sessions/s")).status_code == 200
    assert (await ada.get(f"/api/sessions/{copy}")).json()["forked_from"] is None


async def test_a_conversation_is_deleted_with_all_branches(api, ada) -> None:
    first = await ask(api, ada, "one")
    edited = await ask(api, ada, "1", replaces=first["task_id"])
    waiting = await ada.post(
        f"/api/sessions/{edited['session_id']}/messages", json={"content": "wait", "replaces": edited["task_id"]}
    )
    await api.until(waiting.json()["task_id"], "running")
    assert (await ada.delete(f"/api/sessions/{edited['session_id']}")).status_code == 200
    store = api.host.services.store
    assert (await store.sessions.list(), await store.runs.list()) == ([], [])


async def test_a_branch_costs_only_what_it_asks_itself(api, ada) -> None:
    first = await ask(api, ada, "one")
    await ask(api, ada, "two")
    usage = api.host.services.store.usage
    before = sum(each.calls for each in await usage.list_totals())
    edited = await ask(api, ada, "1", replaces=first["task_id"])
    assert sum(each.calls for each in await usage.list_totals()) == before + 1
    assert [each.calls for each in await usage.list_totals(session_id=edited["session_id"])] == [1]
    assert (await ada.post("/api/sessions/s/fork", json={})).status_code == 201
    assert sum(each.calls for each in await usage.list_totals()) == before + 1


async def test_title_model_and_planning_belong_to_the_branch_from_its_beginning(api, ada) -> None:
    first = await ask(api, ada, "one")
    changed = await ada.patch("/api/sessions/s", json={"title": "Trip", "planning": "always"})
    assert (changed.json()["title"], changed.json()["planning"]) == ("Trip", "Always")
    refused = await ada.patch("/api/sessions/s", json={"title": "No", "planning": "sometimes"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "input")
    edited = await ask(api, ada, "1", replaces=first["task_id"], planning="Never")
    branch = (await ada.get(f"/api/sessions/{edited['session_id']}")).json()
    assert (branch["title"], branch["planning"]) == ("Trip", "Always")
    assert (await ada.patch("/api/sessions/s", json={"planning": None})).json()["planning"] is None
    assert (await ada.get(f"/api/sessions/{edited['session_id']}")).json()["planning"] == "Always"


async def test_the_planning_mode_of_a_session_holds_unless_a_message_says_otherwise(serve) -> None:
    purposes: list[str] = []

    async def answer(request: ModelRequest) -> str:
        purposes.append(request.purpose)
        return "no plan"

    api = await serve(models=FunctionModel(answer))
    ada = await api.open("ada")
    await ask(api, ada, "one")
    assert purposes == ["reply"]
    await ada.patch("/api/sessions/s", json={"planning": "Always"})
    await ask(api, ada, "two")
    assert "plan" in purposes
    purposes.clear()
    await ask(api, ada, "three", planning="Never")
    assert purposes == ["reply"]


async def test_the_files_of_a_message_stay_unless_others_are_named(api, ada) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    uploaded = await ada.post("/api/attachments?name=note.txt", content=b"remember the milk", headers=headers)
    file = uploaded.json()["attachment"]["id"]
    first = await ask(api, ada, "read this", attachments=[file])
    repeated = await again(api, ada, first["task_id"])
    edited = await ask(api, ada, "read it", replaces=first["task_id"])
    without = await ask(api, ada, "read nothing", replaces=first["task_id"], attachments=[])
    store = api.host.services.store.sessions
    for branch, names in ((repeated, ["note.txt"]), (edited, ["note.txt"]), (without, [])):
        [record, *_] = await store.list_records(branch["session_id"])
        assert record.message is not None
        assert [each.name for each in record.message.attachments] == names
    assert (await ada.get(f"/api/attachments/{file}")).status_code == 200
    assert (await ada.delete("/api/sessions/s")).status_code == 200
    assert (await ada.get(f"/api/attachments/{file}")).status_code == 404


async def fill(api, owner: str) -> None:
    """Give somebody as many conversations as one may have, with those that they have."""
    at, sessions = api.host.services.clock.now(), api.host.services.store.sessions
    for number in range(MAX_SESSIONS - (await sessions.count(owner)).sessions):
        await sessions.add(NewSession(f"{owner}-{number}", owner, "", [], at, at))


async def test_who_has_as_many_conversations_as_one_may_have_copies_none(api, ada, bob) -> None:
    task = await ask(api, ada, "one")
    await ask(api, bob, "one", "of-bob")
    await fill(api, "ada")
    asked = [
        await ada.post("/api/sessions/s/fork", json={}),
        await ada.post("/api/sessions/s/messages", json={"content": "uno", "replaces": task["task_id"]}),
        await ada.post(f"/api/sessions/s/tasks/{task['task_id']}/regenerate", json={}),
    ]
    for each in asked:
        assert each.status_code == 400, each.text
        assert "there are 10,000 conversations, branches included; delete some first" in each.text
    assert (await api.host.services.store.sessions.count("ada")).sessions == MAX_SESSIONS
    assert (await bob.post("/api/sessions/of-bob/fork", json={})).status_code == 201
    await ask(api, ada, "two")  # a conversation goes on, and one begins with a message
    caller = Caller(api.host, User("ada"))
    with pytest.raises(InputError, match="no conversation can begin without a message: there are 10,000"):
        await caller.sessions.find_or_create("joined")
    assert (await caller.sessions.find_or_create("s")).id == "s"
    assert (await ada.post("/api/schedules", json={"text": "x", "in_minutes": 5})).status_code == 400
    await ask(api, ada, "three", "begun")
    assert (await ada.delete("/api/sessions/begun")).status_code == 200
    assert (await ada.delete("/api/sessions/ada-0")).status_code in (200, 204)
    assert (await ada.post("/api/sessions/s/fork", json={})).status_code == 201
