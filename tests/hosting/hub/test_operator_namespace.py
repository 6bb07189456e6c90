"""The operators' namespace: watch, look and decide over the sessions of all."""

from sophon.events import event_type


async def test_an_operator_hears_of_tasks_and_questions_without_joining(house) -> None:
    olga, ada = await house.peer("olga", "/operator"), await house.peer()
    receipt = await ada.done("send_message", {"content": "pay Bob"})
    question = await olga.until("approval_requested")
    await olga.done("decide_approval", {"approval_id": question["approval_id"], "decision": "approve"})
    await olga.ended(receipt["task_id"])
    names = [name for name, _ in olga.heard]
    assert {event_type(name).audience for name in names} == {"operators"}
    expected = ["task_queued", "task_started", "approval_requested", "approval_resolved", "task_completed"]
    assert [name for name in names if name in expected] == expected
    assert await ada.ended(receipt["task_id"]) == "Done: paid Bob"


async def test_what_an_operator_has_joined_is_heard_once_and_whole(house) -> None:
    olga, ada = await house.peer("olga", "/operator"), await house.peer()
    await olga.done("join_session", {"session_id": "s"})
    await olga.done("leave_session", {"session_id": "s"})
    await ada.done("send_message", {"content": "hello", "session_id": "s"})  # olga was there first: this is another
    first = await ada.done("send_message", {"content": "hello", "session_id": "t"})
    await ada.ended(first["task_id"])
    await olga.done("join_session", {"session_id": "t"})
    olga.heard.clear()
    second = await ada.done("send_message", {"content": "hello", "session_id": "t"})
    await olga.ended(second["task_id"])
    numbers = [data["seq"] for _, data in olga.heard if "seq" in data]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert olga.of("message", second["task_id"])


async def test_what_happens_while_an_operator_joins_is_replayed_and_not_heard_besides(house, monkeypatch) -> None:
    olga, ada = await house.peer("olga", "/operator"), await house.peer()
    first = await ada.done("send_message", {"content": "hello", "session_id": "t"})
    await ada.ended(first["task_id"])
    await olga.ended(first["task_id"])
    olga.heard.clear()
    sessions = house.host.services.store.sessions
    find = sessions.find

    async def find_late(session_id: str) -> object:
        """Find the session only after another turn of it."""
        monkeypatch.setattr(sessions, "find", find)
        receipt = await ada.done("send_message", {"content": "hello", "session_id": "t"})
        await ada.ended(receipt["task_id"])
        return await find(session_id)

    monkeypatch.setattr(sessions, "find", find_late)
    joined = await olga.done("join_session", {"session_id": "t"})
    assert [each["event"] for each in joined["events"]].count("task_completed") == 2
    third = await ada.done("send_message", {"content": "hello", "session_id": "t"})
    await olga.ended(third["task_id"])
    assert [each["task_id"] for each in olga.of("task_completed")] == [third["task_id"]]


async def test_an_operator_stops_the_task_of_another(house) -> None:
    olga, ada = await house.peer("olga", "/operator"), await house.peer()
    receipt = await ada.done("send_message", {"content": "stall here"})
    await house.stalled.wait()
    assert (await olga.done("cancel_task", {"task_id": receipt["task_id"]}))["status"] == "cancelled"
    await ada.until("task_cancelled", task_id=receipt["task_id"])


async def test_in_the_chat_an_operator_sees_only_their_own(house) -> None:
    olga, ada = await house.peer("olga"), await house.peer()
    receipt = await ada.done("send_message", {"content": "hello", "session_id": "s"})
    await ada.ended(receipt["task_id"])
    assert (await olga.refused("join_session", {"session_id": "s"}))["code"] == "forbidden"
    assert ((await olga.done("list_sessions"))["items"], olga.heard) == ([], [])


async def test_one_connection_serves_both_namespaces(house) -> None:
    async with house.raw("olga") as raw:
        await raw.say('40/operator,{"token":"token-of-olga"}')
        assert (await raw.next()).startswith("40/operator,")
        await raw.say('42/operator,1["list_tasks",{}]')
        await raw.say('422["list_tasks",{}]')
        assert [await raw.next(), await raw.next()] == [
            '43/operator,1[{"ok":true,"items":[]}]',
            '432[{"ok":true,"items":[]}]',
        ]
        assert house.hub.statistics().connections == 1
        await raw.say("41/operator,")
        await house.settled(lambda: house.hub.statistics().operators == 0)
        assert house.hub.statistics().clients == 1


async def test_when_no_operator_is_left_nobody_watches(house) -> None:
    olga = await house.peer("olga", "/operator")
    assert (house.hub.statistics().operators, len(house.host.event_bus._observers)) == (1, 1)
    await olga.close()
    await house.settled(lambda: house.hub.statistics().operators == 0)
    assert house.host.event_bus._observers == []
