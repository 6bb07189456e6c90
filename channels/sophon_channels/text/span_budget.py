"""Budget of weighted spans in one message: how far a part may reach before it holds too many of them."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class WeightedSpan:
    """A stretch of text, as positions of its start and end, and what it costs the message that holds a piece of it."""

    start: int
    end: int
    weight: int = 1


class SpanBudget:
    """Spans of one text, and the maximum weight of the spans in one part of it. Immutable."""

    def __init__(self, spans: Sequence[WeightedSpan], max_weight: int) -> None:
        self._spans, self._max_weight = sorted(spans, key=lambda span: span.start), max_weight
        self._totals = [0, *accumulate(span.weight for span in self._spans)]
        self._longest = max((span.end - span.start for span in self._spans), default=0)

    def limit_end(self, start: int, end: int) -> int:
        """Return the largest position up to `end` at which a part from `start` stays within the budget, at least one
        character after `start`. Pure.
        """
        first = self._index_of(start)
        budget = self._max_weight - self._weight_open_at(start, first)
        if self._totals[self._index_of(end)] - self._totals[first] <= budget:
            return end
        low, high = first, self._index_of(end)
        while low < high:  # the last span, in order of their starts, that still fits
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._totals[middle] - self._totals[first] <= budget else (low, middle - 1)
        return max(self._spans[low].start, start + 1)

    def _index_of(self, position: int) -> int:
        return bisect_left(self._spans, position, key=lambda span: span.start)

    def _weight_open_at(self, position: int, first: int) -> int:
        """Return the weight of the spans that began before `position` and reach beyond it: they are opened again."""
        earliest = self._index_of(position - self._longest)
        return sum(span.weight for span in self._spans[earliest:first] if span.end > position)
