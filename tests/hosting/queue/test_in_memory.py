"""What is true of the queue in memory alone: it keeps nothing of what is over, and all is exact and at once."""

import asyncio
import gc
from collections import Counter

import pytest

from sophon.testing import VirtualClock
from sophon_hosting.queue.contract import DeadLetter, QueueEntry
from sophon_hosting.queue.errors import QueueFull
from sophon_hosting.queue.in_memory import MemoryQueue


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


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


async def test_a_full_queue_says_when_to_come_again_from_how_long_tasks_ran():
    clock = VirtualClock(auto=False)
    queue = MemoryQueue(1, clock=clock)
    for _ in range(3):
        await queue.put(run("a1"))
        await clock.advance(20)
        delivery = await queue.take()
        await clock.advance(7)
        await queue.ack(delivery)
    await queue.put(run("a1"))
    await queue.take()
    await queue.put(run("b1"))
    with pytest.raises(QueueFull) as refusal:
        queue.reserve()
    assert refusal.value.retry_after_seconds == 7


async def test_a_token_is_greater_than_those_of_the_process_before():
    clock = VirtualClock(auto=False)
    queue = MemoryQueue(clock=clock)
    for n in range(50):
        await queue.put(QueueEntry(f"t{n}", f"s{n}"))
    last = max([(await queue.take()).fencing_token for _ in range(50)])
    await clock.advance(0.001)
    restarted = MemoryQueue(clock=clock)
    await restarted.put(run("a1"))
    assert (await restarted.take()).fencing_token > last


async def test_a_dead_letter_has_the_time_of_the_clock():
    clock = VirtualClock(auto=False)
    queue = MemoryQueue(max_deliveries=1, clock=clock)
    await queue.put(run("a1"))
    await clock.advance(3)
    await queue.nack(await queue.take())
    assert await queue.list_dead_letters() == [DeadLetter(run("a1"), 1, clock.now())]


async def test_who_waits_longest_is_served_first():
    clock = VirtualClock(auto=False)
    queue = MemoryQueue(clock=clock)
    takers = [asyncio.create_task(queue.take()) for _ in range(3)]
    await clock.advance(0)
    for task in ("a1", "b1", "c1"):
        await queue.put(run(task))
    assert [(await taker).entry.task_id for taker in takers] == ["a1", "b1", "c1"]


async def test_a_pause_catches_a_taker_that_was_woken_already():
    clock = VirtualClock(auto=False)
    queue = MemoryQueue(clock=clock)
    taker = asyncio.create_task(queue.take())
    await clock.advance(0)
    await queue.put(run("a1"))
    await queue.pause()
    await clock.advance(0)
    assert not taker.done()
    await queue.resume()
    assert (await taker).entry == run("a1")
