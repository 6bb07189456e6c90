"""Cut points: the best position at which to divide a text that is too long."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeAlias

from sophon_channels.text.grapheme_boundaries import is_grapheme_boundary

TextSpan: TypeAlias = tuple[int, int]
"""Start and end, in characters; a cut at either of them leaves the span intact."""

_CUT_PATTERNS = (
    (re.compile(r"\n[ \t]*\n"), 0.4),  # between paragraphs
    (re.compile(r"\n"), 0.3),
    (re.compile(r"(?<=[.!?…])[ \t]"), 0.5),
    (re.compile(r"[ \t]"), 0.1),
)
"""Where to cut, best first, and the minimum share of the capacity that a part must fill for that place to be used."""


def find_fitting_end(text: str, start: int, capacity: int, measure: Callable[[str], int]) -> int:
    """Return the largest `end` with `measure(text[start:end]) <= capacity`; `measure` must not decrease as text grows.
    Pure.
    """
    low, high = start, start + max(capacity, 1)
    while high < len(text) and measure(text[start:high]) <= capacity:
        low, high = high, start + (high - start) * 2
    high = min(high, len(text))
    if measure(text[start:high]) <= capacity:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if measure(text[start:middle]) <= capacity:
            low = middle
        else:
            high = middle
    return low


def find_best_cut(text: str, start: int, end: int, atomic_spans: Sequence[TextSpan] = ()) -> int:
    """Return the best position in (start, end] to cut at; nothing before `start` is read. Spans in `atomic_spans` are
    kept intact where possible; they are sorted and do not overlap.

    Prefers the end of a paragraph, then of a line, sentence, word, visible character. White space at the cut stays
    behind the position. Pure.
    """
    return (
        _find_pattern_cut(text, start, end, atomic_spans)
        or _find_last_boundary(text, start, end, atomic_spans)
        or _find_pattern_cut(text, start, end, ())
        or _find_last_boundary(text, start, end, ())
        or _avoid_surrogate_split(text, max(end, start + 1))
    )


def _find_pattern_cut(text: str, start: int, end: int, whole: Sequence[TextSpan]) -> int | None:
    for pattern, share in _CUT_PATTERNS:
        first = start + int((end - start) * share)
        ends = [
            match.start()
            for match in pattern.finditer(text, first, min(end + 2, len(text)))
            if start < match.start() <= end
        ]
        for position in reversed(ends):
            if _is_allowed(text, start, position, whole):
                return position
    return None


def _find_last_boundary(text: str, start: int, end: int, whole: Sequence[TextSpan]) -> int | None:
    # Only in the later half: a very short part, only to keep a long URL intact, is worse than a cut URL.
    for position in range(end, start + (end - start) // 2, -1):
        if _is_allowed(text, start, position, whole):
            return position
    return None


def _is_allowed(text: str, start: int, position: int, whole: Sequence[TextSpan]) -> bool:
    return is_grapheme_boundary(text, position, start) and not _is_inside_span(position, whole)


def _is_inside_span(position: int, whole: Sequence[TextSpan]) -> bool:
    before = bisect_left(whole, position, key=_span_start)
    return before > 0 and position < whole[before - 1][1]


def _span_start(span: TextSpan) -> int:
    return span[0]


def _avoid_surrogate_split(text: str, position: int) -> int:
    """Return a cut within a visible character that fills a whole part, without splitting a surrogate pair."""
    is_low_surrogate = position < len(text) and "\udc00" <= text[position] <= "\udfff"
    return position - 1 if is_low_surrogate and position > 1 else position
