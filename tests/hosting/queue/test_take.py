"""What every queue promises to those who take: they wait without loss, also when cancelled, paused or drained."""

import asyncio

import pytest

from sophon_hosting.queue.contract import QueueEntry


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


@pytest.fixture
def steps(backend, queue):
    """Let the queue make so many small steps."""

    async def steps(count: int) -> None:
        for _ in range(count):
            await backend.step(queue)

    return steps


async def test_a_taker_waits_for_the_first_entry(queue, taking, settled, backend):
    taker = taking(queue)
    await settled()
    assert not taker.done()
    await queue.put(run("a1"))
    assert (await backend.finish(taker)).entry == run("a1")


async def test_all_who_wait_are_served(queue, taking, settled, backend):
    takers = [taking(queue) for _ in range(3)]
    await settled()
    for task in ("a1", "b1", "c1"):
        await queue.put(run(task))
    assert {(await backend.finish(taker)).entry.task_id for taker in takers} == {"a1", "b1", "c1"}


async def test_one_ack_wakes_one_taker_and_the_rest_wait(queue, take, taking, settled, backend):
    await queue.put(run("a1"))
    await queue.put(run("a2"))
    first = await take(queue)
    takers = [taking(queue) for _ in range(3)]
    await settled()
    await queue.ack(first)
    await backend.finish(asyncio.wait(takers, return_when=asyncio.FIRST_COMPLETED))
    await settled()
    assert sum(taker.done() for taker in takers) == 1


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("after", range(4))
async def test_a_taker_cancelled_at_any_point_loses_nothing(queue, take, taking, steps, before: int, after: int):
    taker = taking(queue)
    await steps(before)
    await queue.put(run("a1"))
    await steps(after)
    taker.cancel()
    await asyncio.wait([taker])
    delivery = await take(queue) if taker.cancelled() else taker.result()
    assert (delivery.entry, delivery.delivery_count) == (run("a1"), 1)
    assert (await queue.statistics()).in_flight == 1


@pytest.mark.parametrize("after", range(4))
async def test_a_taker_cancelled_when_its_turn_has_come_passes_it_on(
    queue, taking, settled, steps, backend, after: int
):
    takers = [taking(queue) for _ in range(3)]
    await settled()
    await queue.put(run("a1"))
    await steps(after)
    takers[0].cancel()
    await asyncio.wait(takers[:1])
    if takers[0].cancelled():
        await backend.finish(asyncio.wait(takers[1:], return_when=asyncio.FIRST_COMPLETED))
    await settled()
    taken = [taker.result().entry for taker in takers if taker.done() and not taker.cancelled()]
    assert taken == [run("a1")]


async def test_all_takers_but_one_may_be_cancelled_with_all_entries_there(queue, taking, settled, backend):
    takers = [taking(queue) for _ in range(5)]
    await settled()
    for session in "abcde":
        await queue.put(run(f"{session}1"))
    for taker in takers[:4]:
        taker.cancel()
    await backend.finish(asyncio.wait(takers))
    assert not takers[4].cancelled()
    taken = [taker.result().entry.task_id for taker in takers if not taker.cancelled()]

    async def is_all_there() -> bool:
        return (await queue.statistics()).waiting + len(taken) == 5

    await backend.until(is_all_there)


async def test_a_time_limit_around_a_take_loses_nothing(queue, take):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await queue.take()
    await queue.put(run("a1"))
    assert (await take(queue)).entry == run("a1")


async def test_a_cancelled_taker_leaves_the_others_waiting(queue, taking, settled, backend):
    first, second = taking(queue), taking(queue)
    await settled()
    first.cancel()
    await settled()
    assert not second.done()
    await queue.put(run("a1"))
    assert (await backend.finish(second)).entry == run("a1")


async def test_a_paused_queue_goes_on_filling_and_delivers_nothing(queue, taking, settled):
    await queue.pause()
    early = taking(queue)
    await settled()
    assert await queue.put(run("a1")) == 0
    late = taking(queue)
    await settled()
    assert not early.done()
    assert not late.done()
    assert (await queue.statistics()).waiting == 1


async def test_a_resumed_queue_serves_all_who_wait(queue, taking, settled, backend):
    await queue.pause()
    takers = [taking(queue) for _ in range(3)]
    for task in ("a1", "b1", "c1"):
        await queue.put(run(task))
    await settled()
    await queue.resume()
    assert {(await backend.finish(taker)).entry.task_id for taker in takers} == {"a1", "b1", "c1"}


async def test_what_is_in_flight_ends_while_the_queue_is_paused(queue, take):
    await queue.put(run("a1"))
    await queue.put(run("b1"))
    first, second = await take(queue), await take(queue)
    await queue.pause()
    assert await queue.ack(first)
    assert await queue.nack(second) == "waiting"


async def test_a_drain_of_an_idle_queue_is_done_at_once_and_leaves_it_paused(queue):
    await queue.put(run("a1"))
    assert await asyncio.wait_for(queue.drain(), 5)
    statistics = await queue.statistics()
    assert (statistics.paused, statistics.waiting) == (True, 1)


async def test_a_drain_waits_for_all_that_is_in_flight_and_lets_nothing_begin(queue, take, taking, settled):
    for task in ("a1", "a2", "b1"):
        await queue.put(run(task))
    first, second = await take(queue), await take(queue)
    drain = asyncio.create_task(queue.drain())
    taker = taking(queue)
    await settled()
    await queue.ack(first)
    await settled()
    assert not drain.done()
    await queue.nack(second)
    assert await asyncio.wait_for(drain, 30)
    assert not taker.done()
    assert (await queue.statistics()).waiting == 2


async def test_a_drained_queue_can_be_resumed(queue, take):
    await queue.drain()
    await queue.put(run("a1"))
    await queue.resume()
    assert (await take(queue)).entry == run("a1")


async def test_a_resume_calls_off_a_drain(queue, take, settled):
    await queue.put(run("a1"))
    await take(queue)
    drain = asyncio.create_task(queue.drain())
    await settled()
    await queue.resume()
    assert not await asyncio.wait_for(drain, 30)


async def test_a_drain_out_of_patience_leaves_the_queue_paused(queue, take):
    await queue.put(run("a1"))
    delivery = await take(queue)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await queue.drain()
    assert (await queue.statistics()).paused
    assert await queue.ack(delivery)


async def test_two_drains_end_together(queue, take, settled):
    await queue.put(run("a1"))
    delivery = await take(queue)
    drains = [asyncio.create_task(queue.drain()) for _ in range(2)]
    await settled()
    await queue.ack(delivery)
    assert [await asyncio.wait_for(drain, 30) for drain in drains] == [True, True]
