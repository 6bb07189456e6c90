"""Who comes back hears what was missed, in order and once, and then goes on live; in the midst of a reply too."""

import asyncio
import json

import pytest

from sophon.events import TaskQueued


async def test_who_comes_back_is_told_what_was_missed_in_order_and_once(house) -> None:
    ada, witness = await house.peer(), await house.peer()
    await witness.done("join_session", {"session_id": "s"})
    first = await ada.done("send_message", {"content": "one", "session_id": "s"})
    await ada.ended(first["task_id"])
    last_seq = max(data["seq"] for _, data in ada.heard if "seq" in data)
    await ada.close()
    second = await witness.done("send_message", {"content": "two", "session_id": "s"})
    await witness.ended(second["task_id"])
    back = await house.peer()
    joined = await back.done("join_session", {"session_id": "s", "last_seq": last_seq})
    whole = [*ada.heard, *((each["event"], each["data"]) for each in joined["events"])]
    assert durable(whole) == durable(witness.heard)
    assert joined["seq"] == durable(witness.heard)[-1][1]["seq"]
    assert "partial" not in joined


def durable(heard):
    return [(name, data) for name, data in heard if "seq" in data]


async def test_in_the_midst_of_a_reply_all_text_so_far_is_told_and_then_it_goes_on(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "tell me", "session_id": "s"})
    for text in ("Once ", "upon "):
        house.telling.put_nowait(text)
    await ada.until("stream_chunk", count=2)
    await ada.close()
    back = await house.peer()
    joined = await back.done("join_session", {"session_id": "s", "last_seq": 2})
    reset, chunk = joined["events"][-2:]
    assert (reset["event"], chunk["event"], chunk["data"]["text"]) == ("stream_reset", "stream_chunk", "Once upon ")
    for text in ("a ", "time", None):
        house.telling.put_nowait(text)
    text = await back.ended(receipt["task_id"])
    later = "".join(data["text"] for data in back.of("stream_chunk"))
    assert chunk["data"]["text"] + later == text == "Once upon a time"


async def test_while_a_question_is_open_who_comes_back_finds_it_and_answers(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "pay Bob", "session_id": "s"})
    await ada.until("approval_requested")
    await ada.close()
    back = await house.peer()
    joined = await back.done("join_session", {"session_id": "s"})
    (question,) = [each["data"] for each in joined["events"] if each["event"] == "approval_requested"]
    listed = (await back.done("list_approvals"))["items"]
    assert [each["approval_id"] for each in listed] == [question["approval_id"]]
    answer = {"approval_id": question["approval_id"], "decision": "approve"}
    assert (await back.done("decide_approval", answer))["status"] == "approved"
    assert await back.ended(receipt["task_id"]) == "Done: paid Bob"
    assert house.paid == ["Bob"]


async def test_joining_again_is_the_same_place_anew(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "hello", "session_id": "s"})
    await ada.ended(receipt["task_id"])
    joined = [await ada.done("join_session", {"session_id": "s", "last_seq": 2}) for _ in range(2)]
    assert joined[0] == joined[1]
    assert joined[0]["events"][0]["data"]["seq"] == 3
    again = await ada.done("send_message", {"content": "again", "session_id": "s"})
    await ada.ended(again["task_id"])
    numbers = [data["seq"] for _, data in ada.heard if "seq" in data]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("last_seq", [None, 0, -5, 10**12])
async def test_a_number_that_never_was_begins_from_the_beginning(house, last_seq) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "hello", "session_id": "s"})
    await ada.ended(receipt["task_id"])
    joined = await ada.done("join_session", {"session_id": "s", "last_seq": last_seq})
    assert joined["events"][0]["data"]["seq"] == 1


async def test_whoever_joins_while_much_happens_gets_one_line_without_gap_or_repetition(house) -> None:
    ada = await house.peer()
    sent: list[str] = []
    lines: list[list[int]] = [[] for _ in range(8)]

    async def join_and_listen(after: int, numbers: list[int]) -> None:
        async with house.raw() as raw:
            await house.settled(lambda: len(sent) >= after)
            await raw.say('421["join_session",{"session_id":"s","last_seq":0}]')
            packet = await raw.next()
            assert packet.startswith("431["), f"told before the acknowledgement: {packet}"
            replayed = json.loads(packet[3:])[0]["events"]
            numbers += [each["data"]["seq"] for each in replayed if "seq" in each["data"]]
            while True:
                data = json.loads((await raw.next())[2:])[1]
                numbers += [data["seq"]] if "seq" in data else []

    listening = [asyncio.create_task(join_and_listen(4 * place, line)) for place, line in enumerate(lines)]
    for number in range(40):
        sent.append((await ada.done("send_message", {"content": f"m{number}", "session_id": "s"}))["task_id"])
    await ada.ended(sent[-1])
    last = max(data["seq"] for _, data in ada.heard if "seq" in data)
    await house.settled(lambda: all(line and line[-1] == last for line in lines))
    for each in listening:
        each.cancel()
    assert lines == [list(range(1, last + 1))] * len(lines)
    await asyncio.gather(*listening, return_exceptions=True)


@pytest.mark.parametrize("namespace", ["", "/operator,"])
async def test_what_happens_while_somebody_joins_is_told_once(house, namespace: str) -> None:
    async with house.raw("olga") as raw:
        await raw.say('40/operator,{"token":"token-of-olga"}')
        await raw.next()
        await raw.say(f'42{namespace}1["join_session",{{"session_id":"s"}}]')
        await raw.next()
        async with house.host.event_bus.session("s").hold() as lane:
            await raw.say(f'42{namespace}2["join_session",{{"session_id":"s"}}]')
            await house.settled(lambda: lane.lock_user_count == 2)
            lane.push(TaskQueued(session_id="s", task_id="t", run_id="t", position=1))
            await lane.flush()
        joined = await raw.next()
        house.host.event_bus.emit(TaskQueued(session_id="s", task_id="u", run_id="u", position=2))
        await house.host.event_bus.flush("s")
        later = [await raw.next()]
        if namespace:
            assert not house.host.event_bus._sequencers["s"].has_pending
        await raw.say(f'42{namespace}3["leave_session",{{"session_id":"s"}}]')
        while not (packet := await raw.next()).startswith(f"43{namespace}3"):
            later.append(packet)
    replayed = [each["data"]["seq"] for each in json.loads(joined[joined.index("[") :])[0]["events"]]
    told = [
        json.loads(packet[packet.index("[") :])[1]["seq"] for packet in later if packet.startswith(f"42{namespace}[")
    ]
    assert (joined.startswith(f"43{namespace}2["), replayed, told) == (True, [1], [2])


async def test_on_the_same_line_an_answer_comes_before_what_it_set_going(house) -> None:
    async with house.raw() as raw:
        await raw.say('421["join_session",{"session_id":"s"}]')
        for number in range(50):
            await raw.say(f'42{number + 10}["send_message",{{"content":"m{number}","session_id":"s"}}]')
        told: dict[str, int] = {}
        acknowledged: dict[str, int] = {}
        for place in range(10_000):
            packet = await raw.next()
            if packet.startswith("43"):
                answer = json.loads(packet[packet.index("[") :])[0]
                acknowledged[answer.get("task_id", "")] = place
            else:
                name, data = json.loads(packet[2:])
                told.setdefault(data["task_id"], place)
                if name == "task_completed" and data["text"] == "M49":
                    break
        assert len(told) == 50
        assert all(acknowledged[task] < place for task, place in told.items())


async def test_a_deleted_session_is_left_and_its_next_owner_is_not_heard(house) -> None:
    ada, bob = await house.peer(), await house.peer("bob")
    await bob.done("join_session", {"session_id": "s"})
    await house.host.delete_session("s")
    assert (await bob.until("session_deleted"))["session_id"] == "s"
    receipt = await ada.done("send_message", {"content": "secret", "session_id": "s"})
    await ada.ended(receipt["task_id"])
    own = await bob.done("send_message", {"content": "mine", "session_id": "s"})
    assert await bob.ended(own["task_id"]) == "MINE"
    assert {data["task_id"] for name, data in bob.heard if name != "session_deleted"} == {own["task_id"]}
