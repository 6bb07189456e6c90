"""Times of the published stages of a turn: at each moment of its active time exactly one of them runs."""

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from sophon._python.lazy_dataclass import dataclass
from sophon.events import Stage

PUBLISHED_ZONE = "published"
"""Zone of a published stage in a trace; the others are those of middlewares."""

DURATION_FIELD = "duration_ms"
"""Field of the data of `stage_completed` that only published stages have."""

OK, FAILED, CANCELLED, SUSPENDED = "ok", "failed", "cancelled", "suspended"
"""Outcomes of a published stage."""


@dataclass(slots=True, eq=False)
class StageRow:
    """A published stage: when it began first, by the monotonic clock, and the seconds in which no other one ran."""

    stage: Stage
    started: float
    seconds: float = 0.0
    entries: int = 0
    outcome: str = ""
    is_open: bool = False
    """Whether the stage has begun and not ended; what is done for it within another one does not count."""


class StageTimes:
    """Self times of the stages of one start of a turn; together they are the active time of this start.

    What ran before the first stage belongs to it, what runs after the last one to that. Time in which the turn waits
    for a person belongs to none. `active_seconds` reads the turn's stopwatch, which began at `initial_seconds`.
    """

    __slots__ = ("_active_seconds", "_inner", "_now", "_since", "current", "initial_seconds", "innermost", "rows")

    def __init__(
        self, active_seconds: Callable[[], float], now: Callable[[], float], *, initial_seconds: float = 0.0
    ) -> None:
        self._active_seconds, self._now = active_seconds, now
        self.initial_seconds = self._since = initial_seconds
        self.rows: dict[Stage, StageRow] = {}
        """The stages in the order in which they first began."""
        self.current: StageRow | None = None
        """The stage in which the turn is, apart from what is done within it for another one."""
        self.innermost: StageRow | None = None
        """The last stage that began on the way in."""
        self._inner: list[Stage] = []

    def begin(self, stage: Stage, *, leaves: bool = False) -> StageRow:
        """Begin a stage, on the way out with `leaves`, which ends the one before it."""
        self._settle(self._active_seconds())
        row = self._find_row(stage)
        row.entries += 1
        row.outcome, row.is_open, self.current = "", True, row
        if not leaves:
            self.innermost = row
        return row

    @contextmanager
    def within(self, stage: Stage) -> Generator[None]:
        """Count the time of the block to `stage`; blocks may overlap and end in any order."""
        self._settle(self._active_seconds())
        self._inner.append(stage)
        row = self._find_row(stage)
        try:
            yield
            row.outcome = OK
        except BaseException as error:
            row.outcome = describe_outcome(error)
            raise
        finally:
            self._settle(self._active_seconds())
            self._inner.remove(stage)

    def conclude(self, row: StageRow, outcome: str) -> float:
        """Note how a stage has ended, and return its seconds; it runs on until another one begins."""
        self._settle(self._active_seconds())
        row.outcome, row.is_open = outcome, False
        return row.seconds

    def collect(self, active_seconds: float) -> Sequence[StageRow]:
        """Return the stages up to a number of active seconds of the turn, in the order in which they began."""
        self._settle(active_seconds)
        return [*self.rows.values()]

    def _find_row(self, stage: Stage) -> StageRow:
        row = self.rows.get(stage)
        if row is None:
            before = 0.0 if self.rows else self._active_seconds() - self.initial_seconds
            row = self.rows[stage] = StageRow(stage, self._now() - before)
        return row

    def _settle(self, active_seconds: float) -> None:
        row = self.rows[self._inner[-1]] if self._inner else self.current
        if row is not None:  # else the time until now is that of the stage that begins
            row.seconds += active_seconds - self._since
            self._since = active_seconds


def describe_outcome(error: BaseException) -> str:
    """Return the outcome of a stage that an error has ended."""
    return CANCELLED if isinstance(error, asyncio.CancelledError) else FAILED
