"""Stability rules of a goal: back-off after failures, replan storms, oscillation, tools that are locked.

Source of the numbers: WASP, goal engine, those of the code where the page has others (replan storm 3 in 5 min).
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Self

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon._python.lazy_pattern import lazy_pattern

BACKOFF_FAILURES: Final = 4
"""Failures in a row from which a goal backs off."""

MAX_BACKOFF_SECONDS: Final = 300
STORM_REPLANS: Final = 5
STORM_WINDOW: Final = timedelta(minutes=10)
OSCILLATION_ERRORS: Final = 3
"""The same error so many times in a row locks the goal."""

LOCKING_BLOCKS: Final = 3
"""Policy blocks of one tool that lock it."""


_MAX_ERROR_CHARACTERS = 200
_NUMBERS = lazy_pattern(r"\d+")


@dataclass(frozen=True, slots=True)
class Stability:
    """What the rules remember: failures in a row, the last error and how often it came in a row, replans, blocks."""

    failures: int = 0
    last_error: str = ""
    same_errors: int = 0
    replans_at: tuple[datetime, ...] = ()
    blocks: Mapping[str, int] = field(default_factory=new_dict)

    @property
    def is_oscillating(self) -> bool:
        """Whether the same error came so often that another try would only repeat it."""
        return self.same_errors >= OSCILLATION_ERRORS

    @property
    def locked_tools(self) -> tuple[str, ...]:
        """Tools that were blocked so often that the goal does not use them any more, in alphabetical order."""
        return tuple(sorted(tool for tool, count in self.blocks.items() if count >= LOCKING_BLOCKS))

    def note_success(self) -> Self:
        """Return the record after a step that was done: failures are no longer in a row."""
        return replace(self, failures=0, last_error="", same_errors=0)

    def note_failure(self, error: str) -> Self:
        """Return the record after a step that failed. Numbers in an error do not make it another one."""
        kind = normalise_error(error)
        same = self.same_errors + 1 if kind == self.last_error else 1
        return replace(self, failures=self.failures + 1, last_error=kind, same_errors=same)

    def note_block(self, tool: str) -> Self:
        """Return the record after a guard has blocked a call of the tool."""
        return replace(self, blocks={**self.blocks, tool: self.blocks.get(tool, 0) + 1})

    def note_replan(self, at: datetime) -> Self:
        """Return the record after another plan was made; times outside of the window are forgotten."""
        recent = [each for each in self.replans_at if at - each < STORM_WINDOW]
        return replace(self, replans_at=(*recent, at))

    def forgive(self) -> Self:
        """Return the record after a person has resumed the goal: only locked tools stay."""
        return type(self)(blocks=self.blocks)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "failures": self.failures,
            "last_error": self.last_error,
            "same_errors": self.same_errors,
            "replans_at": [each.isoformat() for each in self.replans_at],
            "blocks": dict(self.blocks),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        replans_at = tuple(datetime.fromisoformat(each) for each in data["replans_at"])
        values: dict[str, Any] = {**data, "replans_at": replans_at}
        return cls(**values)


def compute_backoff_seconds(failures: int) -> int:
    """Return the seconds that a goal waits after so many failures in a row; 0 below `BACKOFF_FAILURES`."""
    if failures < BACKOFF_FAILURES:
        return 0
    # Bounded before the power is computed: the number of failures has no bound.
    return min(1 << min(failures - BACKOFF_FAILURES + 1, 16), MAX_BACKOFF_SECONDS)


def is_replan_storm(replans_at: Sequence[datetime], now: datetime) -> bool:
    """Return whether another replan now would be one too many within the window."""
    return sum(now - each < STORM_WINDOW for each in replans_at) >= STORM_REPLANS


def normalise_error(error: str) -> str:
    """Return what two occurrences of the same error have in common."""
    return _NUMBERS.sub("#", " ".join(error.split())[:_MAX_ERROR_CHARACTERS])
