"""Splitting of a long message, as styled text, into parts of limited length and weight; styles continue in the next."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from sophon._python.lazy_dataclass import dataclass
from sophon.invisible_characters import is_blank
from sophon_channels.text.cut_points import TextSpan, find_best_cut, find_fitting_end
from sophon_channels.text.styled_text import StyledRun, to_plain_text
from sophon_channels.text.utf16 import utf16_length


@dataclass(frozen=True, slots=True)
class WeightedSpan:
    """A stretch of text, as positions of its start and end, and what it costs the message that holds a piece of it."""

    start: int
    end: int
    weight: int = 1


class SpanLimit:
    """Spans of one text, and the maximum weight of the spans in one part of it. Immutable."""

    def __init__(self, spans: Sequence[WeightedSpan], max_weight: int) -> None:
        self._spans, self._max_weight = sorted(spans, key=lambda span: span.start), max_weight
        self._totals = [0, *accumulate(span.weight for span in self._spans)]
        by_end = sorted(self._spans, key=_end_of)
        self._ends, self._ended_totals = [_end_of(span) for span in by_end], [0, *accumulate(s.weight for s in by_end)]

    def limit_end(self, start: int, end: int) -> int:
        """Return the largest position up to `end` at which a part from `start` stays within the maximum, at least one
        character after `start`. Pure.
        """
        first = self._index_of(start)
        left = self._max_weight - self._weight_open_at(start)
        if self._totals[self._index_of(end)] - self._totals[first] <= left:
            return end
        low, high = first, self._index_of(end)
        while low < high:  # the last span, in order of their starts, that still fits
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._totals[middle] - self._totals[first] <= left else (low, middle - 1)
        return max(self._spans[low].start, start + 1)

    def _index_of(self, position: int) -> int:
        return bisect_left(self._spans, position, key=lambda span: span.start)

    def _weight_open_at(self, position: int) -> int:
        """Return the weight of the spans that began before `position` and reach beyond it: they are opened again.

        It is that of all that began, without those that ended: no span is looked at, however many there are.
        """
        return self._totals[self._index_of(position)] - self._ended_totals[bisect_right(self._ends, position)]


def split_runs(
    runs: Sequence[StyledRun], limit: int, *, first_limit: int | None = None, span_limit: SpanLimit | None = None
) -> list[list[StyledRun]]:
    """Split the runs into parts of at most `limit` UTF-16 units each, the first of at most `first_limit`, and each
    within `span_limit`; in each part something is visible, and styles continue in the next part.

    Inline code and links are kept intact where possible. Pure.
    """
    text = to_plain_text(runs)
    atomic_spans = _atomic_spans(runs)
    starts = [0, *accumulate(len(run.text) for run in runs)]
    parts: list[list[StyledRun]] = []
    position = _skip_white_space(text, 0)
    while position < len(text):
        end = find_fitting_end(
            text, position, limit if first_limit is None or any(parts) else first_limit, utf16_length
        )
        if span_limit is not None:
            end = span_limit.limit_end(position, end)
        if end < len(text):
            end = find_best_cut(text, position, end, atomic_spans)
        last = position + len(text[position:end].rstrip())
        parts.append(_slice_runs(runs, starts, position, last))
        position = _skip_white_space(text, end)
    return [part for part in parts if not is_blank(to_plain_text(part))]


def _skip_white_space(text: str, position: int) -> int:
    """Return the position after the white space of a cut, but before the indentation of a line."""
    while text.startswith("\n", position):
        position += 1
    return position + 1 if text.startswith(" ", position) and not text.startswith("  ", position) else position


def _atomic_spans(runs: Sequence[StyledRun]) -> list[TextSpan]:
    spans: list[TextSpan] = []
    position = 0
    for run in runs:
        if run.style.code or run.style.link:
            spans.append((position, position + len(run.text)))
        position += len(run.text)
    return spans


def _slice_runs(runs: Sequence[StyledRun], starts: Sequence[int], begin: int, end: int) -> list[StyledRun]:
    """Return what the runs hold between two positions; `starts` are those of the runs."""
    sliced: list[StyledRun] = []
    for index in range(bisect_right(starts, begin) - 1, bisect_left(starts, end)):
        run, position = runs[index], starts[index]
        if text := run.text[max(begin - position, 0) : max(end - position, 0)]:
            sliced.append(StyledRun(text, run.style))
    return sliced


def _end_of(span: WeightedSpan) -> int:
    """Return the end of a span, behind its start also if the span is empty."""
    return max(span.end, span.start + 1)
