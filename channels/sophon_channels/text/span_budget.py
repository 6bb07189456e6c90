"""Budget of weighted spans in one message: how far a part may reach before it holds too many of them."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from sophon.lazy_dataclass import dataclass


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
        by_end = sorted(self._spans, key=_end_of)
        self._ends, self._ended_totals = [_end_of(span) for span in by_end], [0, *accumulate(s.weight for s in by_end)]

    def limit_end(self, start: int, end: int) -> int:
        """Return the largest position up to `end` at which a part from `start` stays within the budget, at least one
        character after `start`. Pure.
        """
        first = self._index_of(start)
        budget = self._max_weight - self._weight_open_at(start)
        if self._totals[self._index_of(end)] - self._totals[first] <= budget:
            return end
        low, high = first, self._index_of(end)
        while low < high:  # the last span, in order of their starts, that still fits
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._totals[middle] - self._totals[first] <= budget else (low, middle - 1)
        return max(self._spans[low].start, start + 1)

    def _index_of(self, position: int) -> int:
        return bisect_left(self._spans, position, key=lambda span: span.start)

    def _weight_open_at(self, position: int) -> int:
        """Return the weight of the spans that began before `position` and reach beyond it: they are opened again.

        It is that of all that began, without those that ended: no span is looked at, however many there are.
        """
        return self._totals[self._index_of(position)] - self._ended_totals[bisect_right(self._ends, position)]


def _end_of(span: WeightedSpan) -> int:
    """Return the end of a span, behind its start also if the span is empty."""
    return max(span.end, span.start + 1)
