"""A conversation over Socket.IO as contract.md tells it: send, hear, cancel, list; nobody sees what is another's."""

import asyncio
from typing import Any

import pytest

WIRE = {
    "task_queued": {"position"},
    "task_started": {"started_at"},
    "message": {"message_id", "role", "content"},
    "stream_chunk": {"epoch", "text"},
    "tool_call_started": {"call_id", "tool", "arguments_digest"},
    "tool_call_completed": {"call_id", "tool", "outcome", "duration_ms"},
    "task_completed": {"text", "finish_reason", "usage", "duration_ms"},
}
DURABLE = set(WIRE) - {"stream_chunk"}


async def test_a_message_is_acknowledged_and_answered(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "hello"})
    assert set(receipt) == {"ok", "task_id", "session_id", "position"}
    assert await ada.ended(receipt["task_id"]) == "HELLO"


async def test_every_event_is_told_with_the_fields_of_the_contract(house) -> None:
    ada = await house.peer()
    house.release.set()
    receipt = await ada.done("send_message", {"content": "stall here"})
    await ada.ended(receipt["task_id"])
    for text in ("Good", " morning", None):
        house.telling.put_nowait(text)
    await ada.ended((await ada.done("send_message", {"content": "tell me"}))["task_id"])
    for name, fields in WIRE.items():
        told = ada.of(name)
        assert told, name
        for data in told:
            assert fields | {"session_id", "task_id"} <= set(data)
            assert ("seq" in data) == (name in DURABLE)


async def test_the_sender_hears_its_task_from_the_first_event_and_after_the_acknowledgement(house) -> None:
    async with house.raw() as raw:
        await raw.say('427["send_message",{"content":"hello"}]')
        assert (await raw.next()).startswith('437[{"ok":true')
        assert (await raw.next()).startswith('42["task_queued"')


async def test_the_pieces_of_a_reply_make_up_its_text(house) -> None:
    ada = await house.peer()
    for text in ("Good", " ", "morning", None):
        house.telling.put_nowait(text)
    receipt = await ada.done("send_message", {"content": "tell me"})
    text = await ada.ended(receipt["task_id"])
    assert "".join(data["text"] for data in ada.of("stream_chunk")) == text == "Good morning"


async def test_without_streaming_there_are_no_pieces(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "hello", "stream": False})
    assert (await ada.ended(receipt["task_id"]), ada.of("stream_chunk")) == ("HELLO", [])


async def test_sent_again_over_a_new_connection_it_is_still_heard(house) -> None:
    ada = await house.peer()
    message = {"content": "stall here", "client_message_id": "m1"}
    first = await ada.done("send_message", message)
    await ada.close()
    later = await house.peer()
    assert (await later.done("send_message", message))["task_id"] == first["task_id"]
    house.release.set()
    assert await later.ended(first["task_id"]) == "Done: here"


@pytest.mark.parametrize("settings", [{"Queue": {"Capacity": 1}, "AgentExecution": {"MaxConcurrentTasks": 1}}])
async def test_a_full_queue_says_when_to_come_back_and_leaves_nothing(house, settings) -> None:
    ada = await house.peer()
    await ada.done("send_message", {"content": "stall here"})
    await house.stalled.wait()
    await ada.done("send_message", {"content": "waits"})
    error = await ada.refused("send_message", {"content": "too many"})
    assert (error["code"], error["retry_after_seconds"] > 0) == ("queue_full", True)
    assert len((await ada.done("list_sessions"))["items"]) == house.hub.statistics().sessions == 2


@pytest.mark.parametrize("settings", [{"Queue": {"Capacity": 1}}])
async def test_messages_sent_again_by_several_clients_to_a_full_queue_get_their_task(house, settings) -> None:
    await house.host.queue.pause()
    phone, tablet = await house.peer(), await house.peer()
    payload = {"content": "hello", "session_id": "s", "client_message_id": "m1"}
    asked = [peer.ask("send_message", payload) for peer in (phone, tablet) for _ in range(15)]
    answers = await asyncio.gather(*asked)
    assert {answer.get("task_id") for answer in answers} == {(await phone.done("send_message", payload))["task_id"]}
    assert (await phone.refused("send_message", {"content": "new"}))["code"] == "queue_full"
    house.host.is_shutting_down = True
    assert (await tablet.done("send_message", payload))["task_id"] == answers[0]["task_id"]
    await house.host.queue.resume()
    assert await tablet.ended(answers[0]["task_id"]) == "HELLO"


async def test_a_second_client_of_the_user_hears_what_it_joined(house) -> None:
    phone, tablet = await house.peer(), await house.peer()
    joined = await tablet.done("join_session", {"session_id": "s"})
    assert (joined["seq"], joined["events"], "partial" in joined) == (0, [], False)
    receipt = await phone.done("send_message", {"content": "hello", "session_id": "s"})
    assert await phone.ended(receipt["task_id"]) == await tablet.ended(receipt["task_id"]) == "HELLO"
    assert tablet.heard == phone.heard


async def test_who_has_left_a_session_hears_no_more_of_it(house) -> None:
    ada, other = await house.peer(), await house.peer()
    await other.done("join_session", {"session_id": "s"})
    await other.done("leave_session", {"session_id": "s"})
    receipt = await ada.done("send_message", {"content": "hello", "session_id": "s"})
    await ada.ended(receipt["task_id"])
    await other.done("list_tasks")
    assert other.heard == []


async def test_a_task_is_cancelled_while_its_tool_runs_and_nothing_starts_after_it(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "stall here"})
    await house.stalled.wait()
    assert (await ada.done("cancel_task", {"task_id": receipt["task_id"]}))["status"] == "cancelled"
    await ada.ended(receipt["task_id"])
    house.release.set()
    after = await ada.done("send_message", {"content": "hello"})
    await ada.ended(after["task_id"])
    assert house.requests == ["stall here", "hello"]
    assert [name for name, data in ada.heard if data["task_id"] == receipt["task_id"]][-1] == "task_cancelled"


async def test_the_events_of_one_client_are_worked_off_in_their_order(house) -> None:
    async with house.raw() as raw:
        for number in range(30):
            event = f'["send_message",{{"content":"m{number}","session_id":"s"}}]'
            await raw.say(f"42{number}{event}" if number % 3 else f'42{number}["list_tasks",{{}}]')
        acks = [packet async for packet in acknowledgements(raw, 30)]
    assert acks == list(range(30))
    runs = await house.host.services.store.runs.list(session_id="s")
    assert [run.text for run in reversed(runs)] == [f"m{number}" for number in range(30) if number % 3]


async def test_two_requests_of_a_polling_client_at_once_are_worked_off_in_their_order(house) -> None:
    address = f"{house.url}/socket.io/?EIO=4&transport=polling"
    async with house.http.get(address) as answer:
        address += "&sid=" + (await answer.text()).partition('"sid":"')[2].partition('"')[0]
    await house.http.post(address, data='40{"token":"token-of-ada"}')
    async with house.http.get(address) as answer:
        assert (await answer.text()).startswith("40{")
    async with house.host.event_bus.session("s").hold() as lane:
        first = asyncio.create_task(house.http.post(address, data='421["join_session",{"session_id":"s"}]'))
        await house.settled(lambda: lane.lock_user_count == 2)
        second = asyncio.create_task(house.http.post(address, data='422["list_tasks",{}]'))
        (connection,) = house.hub._connections.values()
        await house.settled(lambda: second.done() or bool(connection.receive_lock._waiters))
    await asyncio.gather(first, second)
    async with house.http.get(address) as answer:
        assert [packet[:3] for packet in (await answer.text()).split("\x1e")] == ["431", "432"]


async def acknowledgements(raw, count: int):
    while count:
        packet = await raw.next()
        if packet.startswith("43"):
            yield int(packet[2:].partition("[")[0])
            count -= 1


SOMEBODY_ELSES: list[tuple[str, Any]] = [
    ("cancel_task", {"task_id": "TASK"}),
    ("decide_approval", {"approval_id": "APPROVAL", "decision": "approve"}),
    ("decide_approval", {"approval_id": "APPROVAL", "decision": "edit", "arguments": {"to": "Bob"}}),
]


@pytest.mark.parametrize(("event", "payload"), SOMEBODY_ELSES)
async def test_what_belongs_to_somebody_else_is_answered_like_what_does_not_exist(house, event, payload) -> None:
    ada, bob = await house.peer("ada"), await house.peer("bob")
    receipt = await ada.done("send_message", {"content": "pay Eve", "session_id": "s"})
    question = await ada.until("approval_requested")
    known = {"TASK": receipt["task_id"], "APPROVAL": question["approval_id"]}

    async def refusal(ids: dict[str, str]) -> str:
        given = {key: ids.get(value, value) if isinstance(value, str) else value for key, value in payload.items()}
        error = str(await bob.refused(event, given))
        return error.replace(ids["TASK"], "ID").replace(ids["APPROVAL"], "ID")

    assert await refusal(known) == await refusal({"TASK": "e" * 20, "APPROVAL": "apr_" + "f" * 20})
    await ada.done("decide_approval", {"approval_id": question["approval_id"], "decision": "approve"})
    await ada.ended(receipt["task_id"])
    for listing in ("list_sessions", "list_tasks", "list_approvals"):
        assert (await bob.done(listing))["items"] == []
    assert bob.heard == []


async def without_ids(peer, event: str, payload: dict[str, Any]) -> dict[str, Any]:
    """An acknowledgement, without what is random."""
    return {**await peer.done(event, payload), "task_id": ""}


@pytest.mark.parametrize(
    ("event", "payload"), [("join_session", {"last_seq": 7}), ("send_message", {"content": "let me in"})]
)
async def test_a_session_id_that_somebody_else_has_opens_a_session_of_ones_own(house, event, payload) -> None:
    ada, bob = await house.peer("ada"), await house.peer("bob")
    for name in ("theirs", "others"):
        await ada.ended((await ada.done("send_message", {"content": "secret", "session_id": name}))["task_id"])
    taken = await without_ids(bob, event, {**payload, "session_id": "theirs"})
    free = await without_ids(bob, event, {**payload, "session_id": "nobody"})
    assert taken == {**free, "session_id": "theirs"}
    assert "secret" not in str((await bob.done("join_session", {"session_id": "others"}))["events"])


async def test_two_sessions_with_one_id_are_apart_and_each_has_its_id_everywhere(house) -> None:
    ada, bob, olga = await house.peer("ada"), await house.peer("bob"), await house.peer("olga", "/operator")
    await ada.ended((await ada.done("send_message", {"content": "hello", "session_id": "main"}))["task_id"])
    receipt = await bob.done("send_message", {"content": "pay Eve", "session_id": "main"})
    question = await bob.until("approval_requested", task_id=receipt["task_id"])
    assert question["session_id"] == receipt["session_id"] == "main"
    for listing in ("list_sessions", "list_tasks", "list_approvals"):
        assert [each["session_id"] for each in (await bob.done(listing))["items"]] == ["main"]
    await bob.done("decide_approval", {"approval_id": question["approval_id"], "decision": "reject"})
    await bob.ended(receipt["task_id"])
    missed = await bob.done("join_session", {"session_id": "main", "last_seq": 0})
    assert {each["data"]["session_id"] for each in missed["events"]} == {"main"}
    assert all(
        each["data"]["message_id"].startswith("main:") for each in missed["events"] if each["event"] == "message"
    )
    assert {data["session_id"] for _, data in bob.heard} == {"main"}
    assert {each["session_id"] for each in (await olga.done("list_sessions"))["items"]} == {"main", "main\u241fbob"}
    await bob.done("leave_session", {"session_id": "main"})
    assert house.hub.statistics().sessions == 1


async def test_the_lists_of_sessions_and_tasks_come_in_pages(house) -> None:
    ada = await house.peer()
    for name in "abc":
        await ada.ended((await ada.done("send_message", {"content": "hello", "session_id": name}))["task_id"])
    first = await ada.done("list_sessions", {"limit": 2})
    second = await ada.done("list_sessions", {"limit": 2, "cursor": first["next_cursor"]})
    assert [[each["session_id"] for each in page["items"]] for page in (first, second)] == [["c", "b"], ["a"]]
    assert (first["more"], "more" in second, "next_cursor" in second) == (True, False, False)
    tasks = await ada.done("list_tasks", {"limit": 2})
    rest = await ada.done("list_tasks", {"limit": 2, "before": tasks["items"][-1]["task_id"]})
    assert [[each["session_id"] for each in page["items"]] for page in (tasks, rest)] == [["c", "b"], ["a"]]
    assert (tasks["more"], "more" in rest) == (True, False)
    assert (await ada.refused("list_sessions", {"cursor": "x"}))["code"] == "input"


async def test_a_task_of_somebody_else_begins_no_page(house) -> None:
    ada, bob = await house.peer("ada"), await house.peer("bob")
    task = (await ada.done("send_message", {"content": "hello", "session_id": "s"}))["task_id"]
    known, unknown = [await bob.refused("list_tasks", {"before": each}) for each in (task, "e" * len(task))]
    assert str(known).replace(task, "ID") == str(unknown).replace("e" * len(task), "ID")


async def test_the_lists_hold_what_is_the_users_own(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "pay Eve", "session_id": "s"})
    question = await ada.until("approval_requested")
    sessions, tasks, approvals = [
        (await ada.done(listing, {}))["items"] for listing in ("list_sessions", "list_tasks", "list_approvals")
    ]
    assert [each["session_id"] for each in sessions] == ["s"]
    assert [(each["task_id"], each["description"], "text" in each) for each in tasks] == [
        (receipt["task_id"], "pay Eve", False)
    ]
    assert [each["approval_id"] for each in approvals] == [question["approval_id"]]


async def test_a_list_that_is_too_long_to_send_is_an_error_and_no_silence(house) -> None:
    house.hub._dispatcher._limits = type(house.limits)(max_ack_bytes=100)
    ada = await house.peer()
    await ada.done("send_message", {"content": "hello"})
    assert (await ada.refused("list_tasks"))["code"] == "too_large"


async def test_a_failing_store_is_an_internal_error_with_an_id_that_is_in_the_log(house, caplog) -> None:
    ada = await house.peer()
    await house.host.services.store.close()
    house.host.services.store.runs.list = None  # what calls it raises TypeError
    error = await ada.refused("list_tasks")
    assert error["code"] == "internal"
    assert error["id"] in caplog.text


async def test_while_the_host_stops_nothing_more_is_taken(house) -> None:
    ada = await house.peer()
    house.host.is_shutting_down = True
    assert (await ada.refused("send_message", {"content": "hello"}))["code"] == "unavailable"


async def test_an_unavailable_store_is_told_with_its_reason_and_the_time_of_the_next_attempt(house) -> None:
    ada = await house.peer()
    house.host.services.store.health.record_failure("full")
    error = await ada.refused("send_message", {"content": "hello"})
    assert (error["code"], error["retry_after_seconds"]) == ("unavailable", 5)
    assert error["message"] == "the store is unavailable: the disk of the store is full"
    assert await house.host.services.store.runs.list() == []


async def test_feedback_on_an_answer_is_told_to_the_session_and_not_of_anothers_task(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "hello", "session_id": "s"})
    task = receipt["task_id"]
    await ada.ended(task)
    answer = await ada.done("send_feedback", {"task_id": task, "value": -1, "text": "no", "source": "page"})
    assert answer == {"ok": True, "task_id": task, "value": -1}
    await ada.until("feedback_recorded", task_id=task)
    [told] = ada.of("feedback_recorded", task)
    assert (told["value"], told["source"]) == (-1, "page")
    for wrong in ({"task_id": task, "value": 2}, {"task_id": task}, {"task_id": task, "value": "up"}):
        assert (await ada.refused("send_feedback", wrong))["code"] == "input"
    bob = await house.peer("bob")
    assert (await bob.refused("send_feedback", {"task_id": task, "value": 1}))["code"] == "not_found"


@pytest.mark.parametrize("metadata", [{"temperature": 3}, {"temperature": "hot"}, {"top_p": 1}, {"tags": "x"}])
async def test_metadata_out_of_its_bounds_is_refused(house, metadata: dict[str, Any]) -> None:
    ada = await house.peer()
    refused = await ada.refused("send_message", {"content": "hello", "metadata": metadata})
    assert refused["code"] == "input"


async def test_tags_of_a_message_reach_the_router(house) -> None:
    ada = await house.peer()
    content, metadata = 'format this JSON: {"a":1}', {"tags": ["AGENT_BOOSTER_AVAILABLE"]}
    receipt = await ada.done("send_message", {"content": content, "metadata": metadata})
    await ada.ended(receipt["task_id"])
    [end] = ada.of("task_completed")
    assert end["text"] == '```json\n{\n  "a": 1\n}\n```'


async def test_metadata_may_have_a_temperature_and_the_end_says_how_it_went(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "hello", "metadata": {"temperature": 0.5}})
    await ada.ended(receipt["task_id"])
    [end] = ada.of("task_completed")
    assert (end["tool_rounds"], end["fallback_attempts"]) == (0, 0)
    assert end["model"] == "function/function"
    [task] = (await ada.done("list_tasks", {}))["items"]
    assert task["model"] == "function/function"


async def test_a_stopped_turn_says_what_the_reply_that_was_cut_off_has_cost(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "tell me", "session_id": "s"})
    house.telling.put_nowait("Good morning, this is the beginning of a long answer.")
    await ada.until("stream_chunk", task_id=receipt["task_id"])
    await ada.done("cancel_task", {"task_id": receipt["task_id"]})
    stopped = await ada.until("task_cancelled", task_id=receipt["task_id"])
    [total] = await house.host.services.store.usage.list_totals(session_id="s")
    used = stopped["usage"]
    assert used["output_tokens"] > 0
    assert (used["input_tokens"], used["output_tokens"]) == (total.usage.input_tokens, total.usage.output_tokens)


async def test_leaving_a_stored_id_leaves_nothing(house) -> None:
    ada, bob = await house.peer(), await house.peer("bob")
    for peer in (ada, bob):
        await peer.done("join_session", {"session_id": "taken"})
    await bob.done("leave_session", {"session_id": "taken\u241fbob"})
    assert house.hub.statistics().sessions == 2
    await bob.done("leave_session", {"session_id": "taken"})
    assert house.hub.statistics().sessions == 1
