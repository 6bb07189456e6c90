"""What every queue promises about the order that it tells, about the same task put twice, and about removal."""

import pytest

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.errors import QueueFull
from tests.hosting.queue.needs import needs


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


def resume(task: str) -> QueueEntry:
    return QueueEntry(task, task[0], "resume")


async def positions(queue, *tasks: str) -> list[int | None]:
    return [await queue.position(task) for task in tasks]


async def delivered(queue, take, count: int) -> list[str]:
    """The next deliveries, one worker."""
    tasks = []
    for _ in range(count):
        delivery = await take(queue)
        tasks.append(delivery.entry.task_id)
        await queue.ack(delivery)
    return tasks


@needs("positions")
async def test_the_position_is_how_many_are_delivered_before(queue, take):
    assert [await queue.put(run(task)) for task in ("a1", "b1", "a2", "c1")] == [0, 1, 2, 2]
    assert await positions(queue, "a1", "b1", "c1", "a2", "x1") == [0, 1, 2, 3, None]
    assert await delivered(queue, take, 4) == ["a1", "b1", "c1", "a2"]


@needs("positions")
async def test_the_position_is_known_before_the_entry_is_there(queue):
    for task in ("a1", "a2", "b1"):
        assert await queue.estimate_position(run(task)) == await queue.put(run(task))


@needs("positions")
async def test_a_task_in_flight_counts_as_done(queue, take):
    for task in ("a1", "b1", "a2"):
        await queue.put(run(task))
    await take(queue)
    assert await positions(queue, "a1", "b1", "a2") == [None, 0, 1]


@needs("positions")
async def test_a_removed_entry_is_ahead_of_nobody(queue):
    for task in ("a1", "b1", "c1"):
        await queue.put(run(task))
    assert await queue.remove("b1")
    assert await positions(queue, "a1", "b1", "c1") == [0, None, 1]


@needs("positions")
async def test_what_is_given_back_is_behind_those_who_were_ready(queue, take):
    await queue.put(run("a1"))
    delivery = await take(queue)
    await queue.put(run("b1"))
    await queue.nack(delivery)
    assert await positions(queue, "b1", "a1") == [0, 1]
    assert await delivered(queue, take, 2) == ["b1", "a1"]


@needs("positions")
async def test_what_a_held_lane_keeps_back_is_ahead_of_nobody(queue):
    await queue.hold_lane("a", "a0")
    await queue.put(run("a1"))
    assert await queue.put(run("b1")) == 0


@needs("positions")
async def test_positions_hold_through_many_tasks(queue, take, backend):
    await queue.hold_lane("a", "a0")
    await queue.put(run("a1"))
    for n in range(backend.many):
        assert await queue.put(QueueEntry(f"t{n}", "b")) == 0
        await queue.ack(await take(queue))
    assert await queue.put(run("c1")) == 0
    assert await queue.position("a1") == 1


@needs("positions")
async def test_a_task_put_twice_is_one_entry_with_one_position(queue, take):
    await queue.put(run("a1"))
    await queue.put(run("b1"))
    await queue.put(run("c1"))
    assert await queue.put(run("b1")) == 1
    assert (await queue.statistics()).waiting == 3
    assert [(await take(queue)).entry.task_id for _ in range(3)] == ["a1", "b1", "c1"]


async def test_a_task_put_while_it_runs_does_not_run_again(queue, take):
    await queue.put(run("a1"))
    delivery = await take(queue)
    assert await queue.put(run("a1"), force=True) == 0
    await queue.ack(delivery)
    assert (await queue.statistics()).waiting == 0


async def test_a_task_that_is_done_may_be_put_again(queue, take):
    await queue.put(run("a1"))
    await queue.ack(await take(queue))
    await queue.put(run("a1"))
    assert (await take(queue)).delivery_count == 1


@needs("bound")
async def test_a_full_queue_does_not_refuse_what_is_here_already(make_queue, take):
    queue = await make_queue(capacity=1)
    await queue.put(run("a1"))
    await take(queue)
    await queue.put(run("b1"))
    assert [await queue.put(run("a1")), await queue.put(run("b1"))] == [0, 0]
    with pytest.raises(QueueFull):
        await queue.put(run("c1"))


async def test_a_place_used_for_what_is_here_already_is_free_again(make_queue):
    queue = await make_queue(capacity=2)
    await queue.put(run("a1"))
    assert await queue.reserve().put(run("a1")) == 0
    statistics = await queue.statistics()
    assert (statistics.waiting, statistics.reserved) == (1, 0)


async def test_one_resume_waits_behind_the_delivery_however_often_it_is_put(queue, take):
    await queue.put(run("a1"))
    delivery = await take(queue)
    await queue.put(resume("a1"))
    await queue.put(resume("a1"))
    await queue.ack(delivery)
    assert (await take(queue)).entry == resume("a1")
    assert (await queue.statistics()).waiting == 0


async def test_a_removed_task_never_runs_and_its_session_goes_on(queue, take):
    for task in ("a1", "a2", "a3"):
        await queue.put(run(task))
    assert await queue.remove("a1")
    assert await queue.remove("a2")
    assert not await queue.remove("a2")
    assert (await take(queue)).entry == run("a3")


async def test_what_is_in_flight_or_unknown_is_not_removed(queue, take):
    await queue.put(run("a1"))
    delivery = await take(queue)
    assert not await queue.remove("a1")
    assert not await queue.remove("x1")
    assert await queue.ack(delivery)


async def test_removing_the_last_entry_leaves_takers_waiting(queue, taking, settled, backend):
    await queue.put(run("a1"))
    await queue.remove("a1")
    taker = taking(queue)
    await settled()
    assert not taker.done()
    await queue.put(run("a1"))
    assert (await backend.finish(taker)).entry == run("a1")
