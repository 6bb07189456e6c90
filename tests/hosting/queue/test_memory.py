"""What the queue in memory keeps: what waits, what runs, what died, and nothing of what is over."""

import asyncio
import gc
from collections import Counter

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.memory import MemoryQueue

KEPT = ("QueueItem", "Lane", "Rotation")


def kept() -> Counter[str]:
    gc.collect()
    names = (
        type(each).__name__
        for each in gc.get_objects()
        if str(type(each).__module__).startswith("sophon_hosting.queue")
    )
    return Counter(name for name in names if name in KEPT)


async def test_tasks_that_are_done_leave_nothing_behind():
    before = kept()
    queue = MemoryQueue()
    for n in range(1000):
        await queue.put(QueueEntry(f"t{n}", f"s{n}", owner=f"o{n}"))
        await queue.hold_lane(f"s{n}", f"t{n}")
        delivery = await queue.take()
        await queue.nack(delivery)
        await queue.ack(await queue.take())
        await queue.release_lane(f"s{n}", f"t{n}")
    left = kept() - before
    assert left["QueueItem"] == 0
    assert left["Lane"] <= 1  # the one that is used again
    assert left["Rotation"] <= 2  # the rotation of the owners, and the one that is used again


async def test_takers_that_went_away_leave_nothing_behind():
    queue = MemoryQueue()
    futures = sum(isinstance(each, asyncio.Future) for each in gc.get_objects())
    for _ in range(100):
        taker = asyncio.create_task(queue.take())
        await asyncio.sleep(0)
        taker.cancel()
        await asyncio.wait([taker])
    gc.collect()
    assert sum(isinstance(each, asyncio.Future) for each in gc.get_objects()) <= futures + 2


async def test_the_queue_needs_no_options():
    queue = MemoryQueue()
    assert (await queue.statistics()).capacity == 100
