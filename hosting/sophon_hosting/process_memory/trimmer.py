"""Trimmer: returns free memory of the allocator to the system when the host is idle, or keeps much of it.

A freed text stays with the process where smaller blocks behind it are in use, and so does the memory of a burst. It is
worth nothing to a host that is idle, and a container is charged for it.
"""

import asyncio
import gc
import logging
from collections.abc import Callable
from typing import Protocol

from sophon.clock import Clock
from sophon.lazy_dataclass import dataclass
from sophon_hosting.process_memory.allocator import load_allocator, read_resident_bytes

log = logging.getLogger("sophon")

CHECK_SECONDS = 2.0
"""Interval between two checks. A check takes about 20 us."""
IDLE_SECONDS = 4.0
"""Time without a turn after which the host is idle."""
IDLE_TRIM_BYTES = 8 * 1024 * 1024
"""Returnable memory from which an idle host is trimmed."""
BUSY_TRIM_BYTES = 32 * 1024 * 1024
"""Returnable memory from which a busy host is trimmed."""
BUSY_TRIM_INTERVAL_SECONDS = 10.0
"""Least time between two trims of a busy host: the next burst has to request the memory again."""


class TrimmableAllocator(Protocol):
    """The part of the allocator that the trimmer uses."""

    def trim(self) -> None:
        """Return all free pages to the system."""
        ...

    def read_free_bytes(self) -> int | None:
        """Return the number of free bytes in the heaps, returned pages included; None if unknown."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """Memory at one moment, in bytes: resident, and free in the heaps (None: unknown)."""

    resident: int
    free: int | None


@dataclass(frozen=True, slots=True)
class LastTrim:
    """When the process was last trimmed, and what was resident then; before the first trim, nothing was."""

    at: float = float("-inf")
    resident: int = 0


def compute_returnable_bytes(reading: MemoryReading, last: LastTrim) -> int:
    """Return an upper bound of what a trim returns.

    Free bytes include the pages that earlier trims have returned, so what has become resident since the last one limits
    it too.
    """
    growth = max(0, reading.resident - last.resident)
    return growth if reading.free is None else min(reading.free, growth)


def is_trim_due(now: float, reading: MemoryReading, last: LastTrim, idle_since: float | None) -> bool:
    """Return whether to trim now; `idle_since` is the time since when no turn runs, None if one does."""
    returnable = compute_returnable_bytes(reading, last)
    if idle_since is not None and now - idle_since >= IDLE_SECONDS:
        return returnable >= IDLE_TRIM_BYTES
    return returnable >= BUSY_TRIM_BYTES and now - last.at >= BUSY_TRIM_INTERVAL_SECONDS


class MemoryTrimmer:
    """Background task that checks every `CHECK_SECONDS` whether to trim, and trims in a thread.

    `is_busy` returns whether a turn runs. Without an allocator that can be trimmed, nothing runs. When the host is
    idle, garbage is collected first, because cycles keep texts until the collector finds them.
    """

    def __init__(
        self,
        allocator: TrimmableAllocator | None,
        read_resident_bytes: Callable[[], int],
        is_busy: Callable[[], bool],
        clock: Clock,
    ) -> None:
        self._allocator, self._read_resident_bytes = allocator, read_resident_bytes
        self._is_busy, self._clock = is_busy, clock
        self._last = LastTrim()
        self._idle_since: float | None = None
        self._task: asyncio.Task[None] | None = None
        self.trim_count = 0
        """Number of trims so far."""

    def start(self) -> None:
        """Start the task."""
        if self._allocator is not None and self._task is None:
            self._task = asyncio.create_task(self._run(self._allocator))

    async def stop(self) -> None:
        """Stop the task; waits for a trim that runs."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def check(self, allocator: TrimmableAllocator) -> None:
        """Trim if it is due."""
        now = self._clock.monotonic()
        if self._is_busy():
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        before = MemoryReading(self._read_resident_bytes(), allocator.read_free_bytes())
        if not is_trim_due(now, before, self._last, self._idle_since):
            return
        if self._idle_since is not None:
            gc.collect()
        await self._clock.run_in_thread(allocator.trim)
        self.trim_count += 1
        self._last = LastTrim(self._clock.monotonic(), self._read_resident_bytes())
        log.debug("returned %d bytes of free memory", before.resident - self._last.resident)

    async def _run(self, allocator: TrimmableAllocator) -> None:
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            try:
                await self.check(allocator)
            except Exception:
                log.exception("free memory could not be returned")


def create_memory_trimmer(is_busy: Callable[[], bool], clock: Clock) -> MemoryTrimmer:
    """Return the trimmer of this process."""
    return MemoryTrimmer(load_allocator(), read_resident_bytes, is_busy, clock)
