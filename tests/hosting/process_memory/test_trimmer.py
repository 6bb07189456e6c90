"""When free memory is returned: an idle host keeps little of it, and a busy one is not disturbed often."""

import asyncio
from dataclasses import dataclass

import pytest

from sophon.testing import VirtualClock
from sophon_hosting.process_memory.trimmer import (
    BUSY_TRIM_BYTES,
    BUSY_TRIM_INTERVAL_SECONDS,
    CHECK_SECONDS,
    IDLE_SECONDS,
    IDLE_TRIM_BYTES,
    LastTrim,
    MemoryReading,
    MemoryTrimmer,
    compute_returnable_bytes,
    is_trim_due,
)

MB = 1024 * 1024
LITTLE, MUCH = IDLE_TRIM_BYTES - 1, BUSY_TRIM_BYTES


@pytest.mark.parametrize(
    ("resident", "free", "resident_after_trim", "returnable"),
    [
        (500, 300, 0, 300),  # never trimmed: all that is free
        (500, 300, 450, 50),  # of what is free, 250 were returned by the last trim and are not resident
        (500, 10, 100, 10),  # it has grown, but what has grown is in use
        (400, 300, 450, 0),  # it has shrunk
        (500, None, 450, 50),  # an older C library does not tell what is free
    ],
)
def test_what_a_trim_can_return_is_free_and_has_become_resident_since_the_last(
    resident: int, free: int | None, resident_after_trim: int, returnable: int
) -> None:
    assert compute_returnable_bytes(MemoryReading(resident, free), LastTrim(0.0, resident_after_trim)) == returnable


@pytest.mark.parametrize(
    ("free", "idle_since", "trimmed_at", "due"),
    [
        (LITTLE, 0.0, -1000.0, False),
        (IDLE_TRIM_BYTES, 100.0 - IDLE_SECONDS, -1000.0, True),
        (IDLE_TRIM_BYTES, 100.1 - IDLE_SECONDS, -1000.0, False),  # not idle for long enough
        (IDLE_TRIM_BYTES, 100.0 - IDLE_SECONDS, 99.0, True),  # an idle host may be trimmed at any time
        (IDLE_TRIM_BYTES, None, -1000.0, False),  # not worth disturbing a turn
        (MUCH, None, 100.0 - BUSY_TRIM_INTERVAL_SECONDS, True),
        (MUCH, None, 100.1 - BUSY_TRIM_INTERVAL_SECONDS, False),
        (MUCH, 99.0, -1000.0, True),  # between two turns as within one
        (LITTLE, None, -1000.0, False),
    ],
)
def test_an_idle_host_is_trimmed_for_little_and_a_busy_one_for_much_and_seldom(
    free: int, idle_since: float | None, trimmed_at: float, due: bool
) -> None:
    assert is_trim_due(100.0, MemoryReading(1000 * MB, free), LastTrim(trimmed_at, 0), idle_since) is due


@dataclass
class FakeAllocator:
    """A heap of which everything free is returned by a trim."""

    resident: int = 100 * MB
    free: int = 0
    trims: int = 0

    def trim(self) -> None:
        self.trims += 1
        self.resident -= self.free

    def read_free_bytes(self) -> int:
        return self.free

    def grow(self, size: int) -> None:
        """Allocate and free again."""
        self.resident += size
        self.free = size


class Watched:
    def __init__(self) -> None:
        self.heap, self.clock, self.busy = FakeAllocator(), VirtualClock(auto=False), False
        self.trimmer = MemoryTrimmer(self.heap, lambda: self.heap.resident, lambda: self.busy, self.clock)

    async def wait(self, seconds: float) -> None:
        for _ in range(int(seconds / CHECK_SECONDS)):
            await self.clock.advance(CHECK_SECONDS)
            async with asyncio.timeout(30):
                while self.trimmer.trim_count < self.heap.trims:  # the trim runs in a thread
                    await asyncio.sleep(0)


@pytest.fixture
async def watched():
    watched = Watched()
    watched.trimmer.start()
    yield watched
    await watched.trimmer.stop()


async def trimmed(watched: Watched, times: int) -> None:
    """Let the thread end."""
    async with asyncio.timeout(30):
        while watched.trimmer.trim_count < times:
            await asyncio.sleep(0)


async def test_an_idle_host_returns_what_a_burst_has_left(watched: Watched) -> None:
    watched.heap.grow(300 * MB)
    await watched.wait(IDLE_SECONDS + 2 * CHECK_SECONDS)
    await trimmed(watched, 1)
    assert watched.heap.resident == 100 * MB


async def test_an_idle_host_that_has_returned_all_is_left_alone(watched: Watched) -> None:
    watched.heap.grow(300 * MB)
    await watched.wait(IDLE_SECONDS + 2 * CHECK_SECONDS)
    await trimmed(watched, 1)
    await watched.wait(100)
    assert watched.heap.trims == 1


async def test_a_host_that_never_rests_returns_it_too(watched: Watched) -> None:
    watched.busy = True
    watched.heap.grow(300 * MB)
    await watched.wait(CHECK_SECONDS)
    await trimmed(watched, 1)
    watched.heap.grow(300 * MB)
    await watched.wait(CHECK_SECONDS)
    assert watched.heap.trims == 1
    await watched.wait(BUSY_TRIM_INTERVAL_SECONDS)
    await trimmed(watched, 2)


async def test_without_such_an_allocator_no_task_runs() -> None:
    before = len(asyncio.all_tasks())
    trimmer = MemoryTrimmer(None, lambda: 0, lambda: False, VirtualClock(auto=False))
    trimmer.start()
    assert len(asyncio.all_tasks()) == before
    await trimmer.stop()


async def test_a_failure_is_logged_and_the_next_check_comes(watched: Watched, caplog) -> None:
    def fail() -> int:
        raise OSError("no such file")

    read, watched.heap.read_free_bytes = watched.heap.read_free_bytes, fail  # type: ignore[method-assign]
    watched.heap.grow(300 * MB)
    await watched.wait(CHECK_SECONDS)
    assert "free memory could not be returned" in caplog.text
    watched.heap.read_free_bytes = read  # type: ignore[method-assign]
    await watched.wait(IDLE_SECONDS + 2 * CHECK_SECONDS)
    await trimmed(watched, 1)
