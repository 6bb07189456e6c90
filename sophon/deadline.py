"""Deadlines by the wall clock that are noticed in time although the clock jumps: suspend, time synchronization.

A sleep is measured by the monotonic clock, which stands still while a computer is suspended and does not follow a
correction of the time. A single long sleep until a moment of the wall clock therefore ends late.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Self

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock, Timer

RECHECK_SECONDS = 30.0
"""Maximum time without a look at the wall clock."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """Moment `at` of the wall clock, reached at the latest when the time that was left when it was set has passed.

    After a jump forward it is reached at once, after a jump backward not later than without one.
    """

    at: datetime
    latest_monotonic: float

    @classmethod
    def of(cls, at: datetime, clock: Clock) -> Self:
        """Return the deadline of an aware datetime, set now."""
        return cls(at, clock.monotonic() + (at - clock.now()).total_seconds())

    def remaining_seconds(self, clock: Clock) -> float:
        """Return the remaining seconds; 0.0 or less if it is reached."""
        return min((self.at - clock.now()).total_seconds(), self.latest_monotonic - clock.monotonic())


def next_check_seconds(remaining_seconds: float | None) -> float:
    """Return how long to sleep before the wall clock is looked at again: at most `RECHECK_SECONDS`."""
    return RECHECK_SECONDS if remaining_seconds is None else min(max(remaining_seconds, 0.0), RECHECK_SECONDS)


@asynccontextmanager
async def timeout_at(deadline: Deadline, clock: Clock) -> AsyncGenerator[asyncio.Timeout]:
    """Return a scope as `Clock.timeout` does, which ends at a deadline and looks at the wall clock meanwhile."""
    loop = asyncio.get_running_loop()
    timer: Timer | None = None

    def check() -> None:
        nonlocal timer
        remaining = deadline.remaining_seconds(clock)
        if remaining <= 0:
            timer = None
            scope.reschedule(loop.time())
        else:
            timer = clock.call_later(next_check_seconds(remaining), check)

    async with asyncio.timeout(None) as scope:
        check()
        try:
            yield scope
        finally:
            if timer is not None:
                timer.cancel()
