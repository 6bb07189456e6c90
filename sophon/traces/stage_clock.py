"""Times of the stages of a chain: two readings of the clock for each call of a middleware."""

import asyncio
from collections.abc import Awaitable, Callable

from sophon.lazy_dataclass import dataclass
from sophon.traces.trace import StageTime


@dataclass(slots=True, eq=False)
class StageFrame:
    """A middleware that is running: seconds that those inside it took, and whether it has called any."""

    inner_seconds: float = 0.0
    has_called_next: bool = False


@dataclass(slots=True, eq=False)
class _Row:
    start: float
    calls: int = 0
    total: float = 0.0
    own: float = 0.0
    outcome: str = "passed"


class StageClock:
    """Sums of the times of the stages of one turn, by depth and name."""

    __slots__ = ("_now", "_rows", "_started")

    def __init__(self, now: Callable[[], float], started: float) -> None:
        self._now, self._started = now, started
        self._rows: dict[tuple[int, str, str], _Row] = {}

    async def time(
        self, name: str, zone: str, depth: int, frame: StageFrame, outer: StageFrame | None, call: Awaitable[None]
    ) -> None:
        """Await a call of a middleware and add its time. Raises what it raises."""
        started, outcome = self._now(), ""
        try:
            await call
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except Exception as error:
            outcome = str(getattr(error, "code", "internal"))
            raise
        finally:
            took = self._now() - started
            if outer is not None:
                outer.inner_seconds += took
                outer.has_called_next = True
            row = self._rows.get((depth, name, zone))
            if row is None:
                row = self._rows[depth, name, zone] = _Row(started)
            row.calls += 1
            row.total += took
            row.own += took - frame.inner_seconds
            row.outcome = outcome or ("passed" if frame.has_called_next else "ended")

    def to_stages(self) -> tuple[StageTime, ...]:
        """Return the stages in the order in which they first began.

        Stages that run beside each other take more time together than the one around them, whose own time is then 0.
        """
        rows = sorted(self._rows.items(), key=lambda item: (item[0][0], item[1].start))
        return tuple(
            StageTime(
                name,
                zone,
                depth,
                row.calls,
                to_ms(row.start - self._started),
                to_ms(row.total),
                max(to_ms(row.own), 0.0),
                row.outcome,
            )
            for (depth, name, zone), row in rows
        )


def to_ms(seconds: float) -> float:
    """Return milliseconds with three decimals."""
    return round(seconds * 1000, 3)
