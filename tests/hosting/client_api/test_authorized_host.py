import pytest

from sophon import Decision
from sophon.errors import InputError, NotFound, QueueFull
from sophon_hosting.client_api.client_errors import Forbidden, TooLarge, Unavailable
from sophon_hosting.client_api.client_message import MAX_CONTENT_CHARACTERS, ClientMessage


def message(content: str = "hello", **more) -> ClientMessage:
    return ClientMessage(content, **{"session_id": "s", **more})


async def test_a_message_makes_the_session_its_senders(office) -> None:
    receipt = await office.ada.send_message(message())
    await office.over(receipt.task_id)
    assert (await office.ada.get_session("s")).owner == "ada"
    assert [each.id for each in (await office.ada.list_sessions()).items] == ["s"]
    assert [record.message.content for record in await office.ada.list_records("s")] == ["hello", "HELLO"]
    assert (await office.ada.get_task(receipt.task_id)).owner == "ada"


async def test_the_same_client_message_id_is_the_same_task_for_one_user_only(office) -> None:
    first = await office.ada.send_message(message(client_message_id="1"))
    again = await office.ada.send_message(message("changed", client_message_id="1"))
    other = await office.bob.send_message(message(client_message_id="1", session_id="b"))
    assert (again.task_id, again.created) == (first.task_id, False)
    assert other.created


async def test_what_is_somebody_elses_does_not_exist_for_others_and_stays_unchanged(office) -> None:
    receipt = await office.ada.send_message(message("pay Bob"))
    await office.reached(receipt.task_id, "suspended")
    [asked] = await office.ada.list_approvals()
    bob = office.bob
    for attempt in (
        bob.subscribe("s", print),
        bob.get_session("s"),
        bob.list_records("s"),
        bob.list_events("s"),
        bob.rename_session("s", "mine"),
        bob.set_session_model("s", None),
        bob.fork_session("s"),
        bob.delete_session("s"),
        bob.get_task(receipt.task_id),
        bob.cancel_task(receipt.task_id),
        bob.get_approval(asked.request.id),
        bob.decide_approval(asked.request.id, Decision.approve()),
    ):
        with pytest.raises(NotFound):
            await attempt
    for attempt in (
        bob.list_sessions(all_users=True),
        bob.list_tasks(all_users=True),
        bob.list_approvals(all_users=True),
    ):
        with pytest.raises(Forbidden):
            await attempt
    assert (await bob.send_message(message())).session_id == "s"
    assert [each.owner for each in (await office.operator.list_sessions(all_users=True)).items] == ["bob", "ada"]
    await bob.delete_session("s")
    assert ((await bob.list_sessions()).items, await bob.list_tasks(), await bob.list_approvals()) == ([], [], [])
    assert (await office.ada.get_task(receipt.task_id)).status == "suspended"


async def test_an_operator_sees_decides_and_stops_everywhere_but_writes_at_home(office) -> None:
    receipt = await office.ada.send_message(message("pay Bob"))
    await office.reached(receipt.task_id, "suspended")
    olga = office.operator
    assert [each.id for each in (await olga.list_sessions(all_users=True)).items] == ["s"]
    assert [each.id for each in await olga.list_tasks(all_users=True)] == [receipt.task_id]
    [asked] = await olga.list_approvals(all_users=True)
    with pytest.raises(Forbidden, match="choose another id"):
        await olga.send_message(message())
    await olga.decide_approval(asked.request.id, Decision.approve())
    assert await office.over(receipt.task_id) == "completed"
    assert (await office.ada.get_approval(asked.request.id)).decision.decided_by == "olga"
    assert not await olga.list_approvals(all_users=True)


@pytest.mark.parametrize("session_id", ["", "x" * 129, "a\nb", "\u202eevil", "a\x00", "\ud800", "a\u241fb"])
async def test_an_id_that_cannot_be_shown_is_refused(office, session_id: str) -> None:
    with pytest.raises(InputError):
        await office.ada.send_message(message(session_id=session_id))
    with pytest.raises(InputError):
        await office.ada.sessions.find_or_create(session_id)
    assert (await office.ada.list_sessions()).items == []


async def test_a_message_that_is_too_long_is_refused_before_anything_is_kept(office) -> None:
    with pytest.raises(TooLarge):
        await office.ada.send_message(message("x" * (MAX_CONTENT_CHARACTERS + 1)))
    assert (await office.ada.list_sessions()).items == []


async def test_a_host_that_stops_takes_nothing_more(office) -> None:
    await office.host.shutdown()
    with pytest.raises(Unavailable):
        await office.ada.send_message(message())


async def test_a_full_queue_says_when_to_come_again(office) -> None:
    await office.host.pause()
    for number in range(office.host.services.settings.queue.capacity):
        await office.ada.send_message(message(session_id=f"s{number}"))
    with pytest.raises(QueueFull) as full:
        await office.ada.send_message(message())
    assert full.value.retry_after_seconds >= 1
    await office.host.resume()


async def test_deleting_a_session_ends_what_runs_in_it(office) -> None:
    receipt = await office.ada.send_message(message("wait"))
    await office.reached(receipt.task_id, "running")
    await office.ada.delete_session("s")
    with pytest.raises(NotFound):
        await office.ada.get_session("s")
    with pytest.raises(NotFound):
        await office.ada.get_task(receipt.task_id)


async def test_a_fork_keeps_its_owner_and_goes_its_own_way(office) -> None:
    await office.over((await office.ada.send_message(message())).task_id)
    copy = await office.ada.fork_session("s", "copy", up_to_seq=1)
    assert (copy.owner, copy.message_count) == ("ada", 1)
    assert (await office.ada.get_session("s")).message_count == 2


async def test_a_listener_hears_the_whole_next_task(office) -> None:
    heard: list[str] = []
    await office.over((await office.ada.send_message(message())).task_id)
    await office.ada.subscribe("s", lambda frame: heard.append(frame.name))
    receipt = await office.ada.send_message(message("again"))
    await office.over(receipt.task_id)
    await office.host.event_bus.flush("s")
    names = [name for name in heard if name in ("task_queued", "task_started", "message", "task_completed")]
    assert names == ["task_queued", "task_started", "message", "message", "task_completed"]
