"""What every queue tells of itself."""

from sophon_hosting.queue.contract import QueueEntry, QueueStatistics

NEEDS = ("counts",)


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


async def test_an_empty_queue_says_so(queue):
    assert await queue.statistics() == QueueStatistics(
        waiting=0,
        reserved=0,
        in_flight=0,
        held_lanes=0,
        dead=0,
        capacity=100,
        paused=False,
        delivered_total=0,
        oldest_waiting_seconds=0.0,
    )


async def test_everything_is_counted_where_it_is(make_queue, take):
    queue = await make_queue(capacity=10, max_deliveries=1)
    for task in ("a1", "b1", "c1", "a2"):
        await queue.put(run(task))
    await queue.nack(await take(queue))
    await queue.ack(await take(queue))
    await take(queue)
    await queue.hold_lane("c", "c1")
    queue.reserve()
    await queue.pause()
    statistics = await queue.statistics()
    assert statistics.oldest_waiting_seconds >= 0
    assert statistics == QueueStatistics(
        waiting=1,
        reserved=1,
        in_flight=1,
        held_lanes=1,
        dead=1,
        capacity=10,
        paused=True,
        delivered_total=3,
        oldest_waiting_seconds=statistics.oldest_waiting_seconds,
    )


async def test_the_oldest_is_the_one_that_waits_longest_now(queue, take, backend):
    async def oldest() -> float:
        return (await queue.statistics()).oldest_waiting_seconds

    async def is_old() -> bool:
        return await oldest() > 0.5  # longer than a technology takes to connect for the first take

    await queue.put(run("a1"))
    await backend.until(is_old)
    await queue.put(run("b1"))
    both = await oldest()
    await take(queue)
    assert await oldest() < both
    await queue.remove("b1")
    assert await oldest() == 0.0


async def test_repeated_deliveries_are_counted_and_stale_endings_are_not(queue, take):
    await queue.put(run("a1"))
    first = await take(queue)
    await queue.nack(first)
    await take(queue)
    await queue.nack(first)
    statistics = await queue.statistics()
    assert (statistics.delivered_total, statistics.in_flight) == (2, 1)


async def test_a_lane_is_held_once_however_often_it_is_asked_for(queue):
    await queue.hold_lane("a", "a1")
    await queue.hold_lane("a", "a1")
    await queue.hold_lane("a", "a2")
    assert (await queue.statistics()).held_lanes == 1
    await queue.release_lane("a", "a1")
    assert (await queue.statistics()).held_lanes == 0
