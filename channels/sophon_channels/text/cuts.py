"""Where a text that is too long is best cut in two."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeAlias

from sophon_channels.text.boundaries import is_boundary

Span: TypeAlias = tuple[int, int]
"""From and to, in characters; a cut at either end leaves it whole."""

_PLACES = (
    (re.compile(r"\n[ \t]*\n"), 0.4),  # between paragraphs
    (re.compile(r"\n"), 0.3),
    (re.compile(r"(?<=[.!?…])[ \t]"), 0.5),
    (re.compile(r"[ \t]"), 0.1),
)
"""Where to cut, best first, and how full (as a share of the room) a part must be for that place to be taken."""


def reach(text: str, start: int, room: int, units: Callable[[str], int]) -> int:
    """The largest end with `units(text[start:end]) <= room`; `units` must not shrink when text is added."""
    low, high = start, start + max(room, 1)
    while high < len(text) and units(text[start:high]) <= room:
        low, high = high, start + (high - start) * 2
    high = min(high, len(text))
    if units(text[start:high]) <= room:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if units(text[start:middle]) <= room:
            low = middle
        else:
            high = middle
    return low


def best_cut(text: str, start: int, end: int, whole: Sequence[Span] = ()) -> int:
    """The best position in (start, end] to cut at; `whole` are spans to be left whole where that is possible,
    in order and apart.

    Between paragraphs, else lines, sentences, words, visible characters. White space of the cut is left behind it.
    """
    return (
        _at_a_place(text, start, end, whole)
        or _last(text, start, end, whole)
        or _at_a_place(text, start, end, ())
        or _last(text, start, end, ())
        or _not_in_a_pair(text, max(end, start + 1))
    )


def _at_a_place(text: str, start: int, end: int, whole: Sequence[Span]) -> int | None:
    for pattern, share in _PLACES:
        least = start + int((end - start) * share)
        ends = [
            place.start()
            for place in pattern.finditer(text, least, min(end + 2, len(text)))
            if start < place.start() <= end
        ]
        for position in reversed(ends):
            if _is_allowed(text, position, whole):
                return position
    return None


def _last(text: str, start: int, end: int, whole: Sequence[Span]) -> int | None:
    """Only in the later half: a part of two letters, to keep a long address whole, helps nobody."""
    for position in range(end, start + (end - start) // 2, -1):
        if _is_allowed(text, position, whole):
            return position
    return None


def _is_allowed(text: str, position: int, whole: Sequence[Span]) -> bool:
    return is_boundary(text, position) and not _is_within(position, whole)


def _is_within(position: int, whole: Sequence[Span]) -> bool:
    before = bisect_left(whole, position, key=_begin)
    return before > 0 and position < whole[before - 1][1]


def _begin(span: Span) -> int:
    return span[0]


def _not_in_a_pair(text: str, position: int) -> int:
    """A visible character that fills a whole part by itself is cut after all, between code points."""
    torn = position < len(text) and "\udc00" <= text[position] <= "\udfff"
    return position - 1 if torn and position > 1 else position
