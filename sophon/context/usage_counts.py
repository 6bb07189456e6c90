"""Usage counts of a turn: what its attempts have used in all, and what of it the store does not have yet."""

import operator
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import Usage

UsageKey: TypeAlias = tuple[str, str, str, str, str]
"""Day, month, provider, model and purpose."""

UnrecordedUsage: TypeAlias = "dict[UsageKey, UsageCounts]"
"""Usage that is not in the store yet. It is part of the turn's state, so that a killed host loses none of it."""


@dataclass(slots=True)
class UsageCounts:
    """Sums over attempts, as integers that are counted on in place; a `Usage` is a value."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    cached_input_tokens: int = 0
    unpriced_tokens: int = 0
    reasoning_tokens: int = 0

    def add(self, usage: Usage, calls: int = 1) -> None:
        """Count an attempt, or the usage of several."""
        self.calls += calls
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cost_micros += usage.cost_micros
        self.cached_input_tokens += usage.cached_input_tokens
        self.unpriced_tokens += usage.unpriced_tokens
        self.reasoning_tokens += usage.reasoning_tokens

    def to_usage(self) -> Usage:
        """Return the sums as a value."""
        return Usage(*_usage_values(self))

    @classmethod
    def from_usage(cls, usage: Usage, calls: int = 0) -> "UsageCounts":
        """Return the counts of a usage; by default of an earlier sum, whose number of attempts is not known."""
        return cls(calls, *_usage_values(usage))


_usage_values = operator.attrgetter(*(each.name for each in fields(Usage)))
# Not dataclasses.astuple, which makes deep copies.


def unrecorded_to_json(unrecorded: UnrecordedUsage) -> list[list[Any]]:
    """Return the usage as JSON data."""
    return [[*key, counts.calls, *_usage_values(counts)] for key, counts in unrecorded.items()]


def unrecorded_from_json(data: Mapping[str, Any]) -> UnrecordedUsage:
    """Parse the usage of a stored tally; an earlier program recorded each attempt at once and stored none."""
    found: UnrecordedUsage = {}
    for day, month, provider, model, purpose, *counts in data.get("unrecorded", ()):
        found[str(day), str(month), str(provider), str(model), str(purpose)] = UsageCounts(*map(int, counts))
    return found
