"""Accepting: a place first, then the row, then the queue; the same message twice is one task."""

import asyncio

import pytest

from sophon.errors import InputError, NotFound, QueueFull
from sophon.events import TaskCompleted
from sophon_hosting.host import Host, RunRequest
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
