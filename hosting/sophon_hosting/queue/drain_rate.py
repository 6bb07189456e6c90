"""Drain rate, which estimates when a full queue has a free slot, from the durations of recent tasks; pending drains."""

import asyncio
import math
from collections import deque
from collections.abc import Collection

SAMPLE_COUNT = 32
"""Number of recent durations."""

MIN_RETRY_AFTER_SECONDS, MAX_RETRY_AFTER_SECONDS = 1, 60
"""Bounds of an estimate."""


class DrainRate:
    """Durations of the newest completions; not rates, which idle periods would distort.

    `elsewhere` is the average of other processes, which counts while this one has completed nothing.
    """

    __slots__ = ("elsewhere", "seconds")

    def __init__(self) -> None:
        self.seconds: deque[float] = deque(maxlen=SAMPLE_COUNT)
        """Times in seconds between a delivery and its ack; append each."""
        self.elsewhere: float | None = None

    @property
    def average_seconds(self) -> float | None:
        """Average duration of the newest tasks of this process; None if there was none."""
        return sum(self.seconds) / len(self.seconds) if self.seconds else None

    def estimate_retry_after_seconds(self, in_flight: int, excess: int) -> int:
        """Return the estimated seconds until `excess` entries have left, given `in_flight` running ones."""
        known = self.seconds or ([] if self.elsewhere is None else [self.elsewhere])
        return estimate_retry_after_seconds(known, in_flight, excess)


def estimate_retry_after_seconds(durations_seconds: Collection[float], in_flight: int, excess: int) -> int:
    """Return whole seconds, 1 to 60, until `excess` of the tasks in flight are done; 60 if there is no data."""
    if not durations_seconds or not in_flight:
        return MAX_RETRY_AFTER_SECONDS
    average = sum(durations_seconds) / len(durations_seconds)
    return min(max(math.ceil(average * excess / in_flight), MIN_RETRY_AFTER_SECONDS), MAX_RETRY_AFTER_SECONDS)


class PendingDrains:
    """Waiting calls of `TaskQueue.drain`."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: set[asyncio.Future[bool]] = set()

    async def wait(self) -> bool:
        """Wait for `end`; return its argument."""
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.waiting.add(waiter)
        try:
            return await waiter
        finally:
            self.waiting.discard(waiter)

    def end(self, *, drained: bool) -> None:
        """End all waiting calls: `drained`, or aborted by a resume."""
        for waiter in self.waiting:
            if not waiter.done():
                waiter.set_result(drained)
