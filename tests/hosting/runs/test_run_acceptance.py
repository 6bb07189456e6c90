"""Accepting: a place first, then the row, then the queue; the same message twice is one task."""

import asyncio
import gc

import pytest

from sophon import Decision
from sophon.errors import InputError, NotFound, SessionTaken
from sophon.events import TaskCompleted, TaskQueued
from sophon.stores.contract import Store
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.queue.errors import QueueFull
from sophon_hosting.runs.turn_factory import build_turn


async def test_an_accepted_message_is_answered(world, host: Host) -> None:
    receipt = await world.send(host, "hello")
    run = await world.ended(receipt)
    assert run.status == "completed"
    assert run.response is not None
    assert (run.response["text"], run.response["finish_reason"]) == ("HELLO", "stop")
    assert await world.said("s") == ["hello", "HELLO"]
    assert (receipt.session_id, receipt.position, receipt.created) == ("s", 0, True)


async def test_a_messages_own_ceiling_of_rounds_reaches_its_turn(world) -> None:
    host = world.host()
    run = await world.run(await world.send(host, "hello", max_iterations=7))
    assert (await build_turn(host.services, run, is_first_start=True)).max_iterations == 7


async def test_a_messages_own_temperature_reaches_its_turn(world) -> None:
    host = world.host()
    run = await world.run(await world.send(host, "hello", temperature=0.5))
    assert (await build_turn(host.services, run, is_first_start=True)).temperature == 0.5
    with pytest.raises(InputError, match="a number from 0 to 2"):
        await world.send(host, "hello", temperature=3)


async def test_the_row_is_there_before_the_sender_is_answered(world) -> None:
    host = world.host()
    receipt = await world.send(host, "hello", stream=True)
    run = await world.run(receipt)
    assert (run.status, run.text, run.owner, run.options["stream"]) == ("queued", "hello", "ada", True)


async def test_the_position_counts_who_waits_before(world) -> None:
    host = world.host()
    positions = [(await world.send(host, "hello", session)).position for session in "abc"]
    assert positions == [0, 1, 2]


async def test_the_same_key_again_is_the_same_task(world) -> None:
    host = world.host()
    first = await world.send(host, "hello", channel="web", external_id="m1")
    again = await world.send(host, "hello", channel="web", external_id="m1")
    other = await world.send(host, "hello", channel="mail", external_id="m1")
    assert (again.task_id, again.created) == (first.task_id, False)
    assert other.task_id != first.task_id
    assert (await host.queue.statistics()).waiting == 2


async def test_a_repetition_of_an_answered_message_is_not_answered_again(world, host: Host) -> None:
    first = await world.send(host, "hello", external_id="m1")
    await world.ended(first)
    again = await world.send(host, "hello", external_id="m1")
    await world.rest(host)
    assert again.task_id == first.task_id
    assert await world.said("s") == ["hello", "HELLO"]
    assert len(world.events.of(TaskCompleted)) == 1


async def test_a_full_queue_refuses_before_anything_is_written(world) -> None:
    host = world.host({"Queue": {"Capacity": 1}})
    await world.send(host, "hello")
    with pytest.raises(QueueFull) as refused:
        await world.send(host, "too much", "t")
    assert refused.value.retry_after_seconds > 0
    assert len(await world.store.runs.list()) == 1
    assert [session.id for session in await world.store.sessions.list()] == ["s"]


async def test_an_accepted_message_sent_again_to_a_full_queue_gets_its_task(world) -> None:
    host = world.host({"Queue": {"Capacity": 1}})
    first = await world.send(host, "hello", external_id="m1")
    again = await world.send(host, "hello", external_id="m1")
    assert (again.task_id, again.session_id, again.created) == (first.task_id, first.session_id, False)
    with pytest.raises(QueueFull):
        await world.send(host, "hello", external_id="m2")


async def test_a_message_sent_again_and_again_at_once_is_accepted_once_into_the_last_slot(world) -> None:
    host = world.host({"Queue": {"Capacity": 1}})
    receipts = await asyncio.gather(*(world.send(host, "hello", external_id="m1") for _ in range(10)))
    assert len({receipt.task_id for receipt in receipts}) == 1
    assert sum(receipt.created for receipt in receipts) == 1


async def test_a_message_sent_again_takes_no_slot_from_a_new_one(world) -> None:
    host = world.host({"Queue": {"Capacity": 2}})
    await world.send(host, "hello", external_id="m1")
    repeats = [world.send(host, "hello", external_id="m1") for _ in range(5)]
    *_, new = await asyncio.gather(*repeats, world.send(host, "new", "t", external_id="m2"))
    assert new.created


async def test_a_message_sent_again_after_its_model_is_gone_gets_its_task(world) -> None:
    first = await world.send(world.host(), "hello", external_id="m1")
    again = await world.send(world.host(), "hello", external_id="m1", model="gone")
    assert again.task_id == first.task_id


async def test_after_a_restart_with_more_runs_than_slots_all_are_there_and_new_messages_wait(world) -> None:
    before = world.host({"Queue": {"Capacity": 6}})
    firsts = [await world.send(before, f"hello {n}", f"s{n}", external_id=f"m{n}") for n in range(6)]
    host = world.host({"Queue": {"Capacity": 2}})
    await host.queue.pause()
    await host.start()
    receipts = [await world.send(host, f"hello {n}", f"s{n}", external_id=f"m{n}") for n in range(6)]
    assert [receipt.task_id for receipt in receipts] == [receipt.task_id for receipt in firsts]
    assert [receipt.position for receipt in receipts] == [0, 1, 2, 3, 4, 5]
    with pytest.raises(QueueFull):
        await world.send(host, "new", "t", external_id="new")
    await host.queue.resume()
    for receipt in firsts:
        assert (await world.ended(receipt)).status == "completed"
    assert (await world.send(host, "new", "t", external_id="new")).created


async def test_with_several_users_one_cannot_fill_the_queue_for_another(world) -> None:
    host = world.host({"Queue": {"Capacity": 10}}, several_users=True)
    for n in range(8):
        await world.send(host, "hello", f"a{n}", "ada")
    with pytest.raises(QueueFull, match="your share of the queue is full"):
        await world.send(host, "hello", "a8", "ada")
    receipt = await world.send(host, "hello", "b", "bob")
    assert (receipt.created, receipt.position) == (True, 1)


async def test_one_user_alone_may_fill_the_queue(world) -> None:
    host = world.host({"Queue": {"Capacity": 10}})
    for n in range(10):
        await world.send(host, "hello", f"a{n}")
    assert (await host.queue.statistics()).waiting == 10


async def test_the_told_position_is_that_of_the_receipt_and_the_order_of_the_turns(world) -> None:
    host = world.host(several_users=True)
    sent = [("a1", "ada"), ("a2", "ada"), ("a3", "ada"), ("b1", "bob")]
    receipts = [await world.send(host, "hello", session, owner) for session, owner in sent]
    assert [receipt.position for receipt in receipts] == [0, 1, 2, 1]
    for receipt in receipts:
        await host.event_bus.flush(receipt.session_id)
    assert [event.position for event in world.events.of(TaskQueued)] == [0, 1, 2, 1]


async def test_a_suspended_task_resumes_though_the_queue_is_full(world) -> None:
    host = world.host({"Queue": {"Capacity": 1}}, several_users=True)
    await host.start()
    receipt = await world.send(host, "Pay Bob")
    approval = await world.suspended(host, receipt)
    await host.queue.pause()
    await world.send(host, "hello", "t", "eve")
    with pytest.raises(QueueFull):
        await world.send(host, "hello", "u", "bob")
    await host.approvals.decide(approval, Decision.approve(), "ada")
    await host.queue.resume()
    assert (await world.ended(receipt)).status == "completed"
    assert world.paid == ["Bob"]


async def test_a_deleted_session_gives_back_the_share_of_its_owner(world) -> None:
    host = world.host({"Queue": {"Capacity": 10}}, several_users=True)
    await host.queue.pause()
    await host.start()
    for _ in range(8):
        await world.send(host, "hello", "a", "ada")
    with pytest.raises(QueueFull):
        await world.send(host, "hello", "a", "ada")
    await host.delete_session("a")
    assert (await host.queue.statistics()).waiting == 0
    assert (await world.send(host, "hello", "a", "ada")).position == 0


async def test_a_cancelled_task_makes_room_for_its_owner(world) -> None:
    host = world.host({"Queue": {"Capacity": 1}})
    first = await world.send(host, "hello", "a")
    assert (await host.cancel(first.task_id)).status == "cancelled"
    assert (await world.send(host, "hello", "b")).created


async def test_a_sender_that_goes_away_leaves_a_whole_task(world) -> None:
    host = world.host()
    sending = asyncio.create_task(world.send(host, "hello"))
    await asyncio.sleep(0)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)

    async def waiting() -> bool:
        return (await host.queue.statistics()).waiting == 1

    await world.until(waiting)
    assert [run.text for run in await world.store.runs.list()] == ["hello"]


async def test_a_refusal_whose_sender_has_gone_away_is_no_exception_that_nobody_retrieves(
    world, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    unheard: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context["message"]))
    host = world.host()
    began, is_away, refused = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def refuse(*_: object, **__: object) -> None:
        began.set()
        await is_away.wait()
        refused.set()
        raise SessionTaken("s")

    monkeypatch.setattr(store.runs, "accept", refuse)
    sending = asyncio.create_task(world.send(host, "hello"))
    await began.wait()
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    is_away.set()
    await refused.wait()
    del sending
    await host.shutdown(grace_seconds=0)
    gc.collect()
    assert unheard == []


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (RunRequest("  "), InputError),
        (RunRequest("hello", planning="sometimes"), InputError),
        (RunRequest("hello", max_iterations=0), InputError),
        (RunRequest("hello", max_iterations=501), InputError),
        (RunRequest("hello", model="gpt-none"), NotFound),
    ],
)
async def test_what_can_never_be_answered_is_not_accepted(world, message: RunRequest, error: type[Exception]) -> None:
    host = world.host()
    with pytest.raises(error):
        await host.accept(message)
    assert await world.store.runs.list() == []


async def test_the_answer_and_its_way_out_are_one_transaction(world, host: Host) -> None:
    receipt = await world.send(host, "hello", channel="telegram", origin={"chat": "42", "account": "bot"})
    await world.ended(receipt)
    entries = await world.store.outbox.list(run_id=receipt.task_id)
    assert [(entry.channel, entry.chat, entry.account, entry.payload["text"]) for entry in entries] == [
        ("telegram", "42", "bot", "HELLO")
    ]
