"""Times of the stages of a chain: two readings of the clock for each call of a middleware."""

import asyncio
from collections.abc import Callable

from sophon._python.lazy_dataclass import dataclass
from sophon.traces.trace import StageTime


@dataclass(slots=True, eq=False)
class StageFrame:
    """A middleware that is running: when it began, the seconds of those inside it, and whether it has called any."""

    started: float
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

    def add(
        self,
        name: str,
        zone: str,
        depth: int,
        frame: StageFrame,
        outer: StageFrame | None,
        error: BaseException | None,
    ) -> None:
        """Add a call of a middleware that has ended now, with an error or without."""
        took = self._now() - frame.started
        if outer is not None:
            outer.inner_seconds += took
            outer.has_called_next = True
        row = self._rows.get((depth, name, zone))
        if row is None:
            row = self._rows[depth, name, zone] = _Row(frame.started)
        row.calls += 1
        row.total += took
        row.own += took - frame.inner_seconds
        if error is None:
            row.outcome = "passed" if frame.has_called_next else "ended"
        else:
            row.outcome = describe_outcome(error)

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


def describe_outcome(error: BaseException) -> str:
    """Return the outcome of a stage that raised."""
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return str(getattr(error, "code", "internal"))


def to_ms(seconds: float) -> float:
    """Return milliseconds with three decimals."""
    return round(seconds * 1000, 3)
