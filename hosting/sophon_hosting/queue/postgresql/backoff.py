"""Outage of a server: how long it lasts, and the pauses between the attempts to reach it."""

import asyncio
import random
import time
from contextlib import suppress

FIRST_SECONDS, LONGEST_SECONDS = 0.05, 5.0
"""Pauses after the first failure, and after many."""

SHORTEST_SECONDS = 0.2
"""Pause that is kept even if somebody wants the next attempt at once."""


class Backoff:
    """Exponential back-off with jitter, from the first failure to the next success."""

    __slots__ = ("_failures", "_since")

    def __init__(self) -> None:
        self._failures = 0
        self._since = 0.0

    def seconds(self) -> float:
        """Return how long the outage has lasted; 0.0 if there is none."""
        return time.monotonic() - self._since if self._failures else 0.0

    def fail(self) -> bool:
        """Count a failed attempt; return whether it begins an outage."""
        if not self._failures:
            self._since = time.monotonic()
        self._failures += 1
        return self._failures == 1

    def succeed(self) -> float:
        """End the outage; return how long it lasted in seconds, 0.0 if there was none."""
        seconds, self._failures = self.seconds(), 0
        return seconds

    async def wait(self, wanted: asyncio.Event | None = None) -> None:
        """Wait until the next attempt; not so long once somebody wants it."""
        pause = min(FIRST_SECONDS * 2 ** min(self._failures - 1, 20), LONGEST_SECONDS)
        pause *= random.uniform(0.5, 1.0)  # noqa: S311 - spreads attempts, guards nothing
        await asyncio.sleep(min(pause, SHORTEST_SECONDS))
        if wanted is None or pause < SHORTEST_SECONDS:
            await asyncio.sleep(max(pause - SHORTEST_SECONDS, 0))
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(pause - SHORTEST_SECONDS):
                await wanted.wait()
