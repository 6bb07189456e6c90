"""Cut points: the best position at which to divide a text that is too long."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeAlias

TextSpan: TypeAlias = tuple[int, int]
"""Start and end, in characters; a cut at either of them leaves the span intact."""

_CUT_PATTERNS = (
    (re.compile(r"\n[ \t]*\n"), 0.4),  # between paragraphs
    (re.compile(r"\n"), 0.3),
    (re.compile(r"(?<=[.!?…])[ \t]"), 0.5),
    (re.compile(r"[ \t]"), 0.1),
)
"""Where to cut, best first, and the minimum share of the capacity that a part must fill for that place to be used."""

ZERO_WIDTH_JOINER = "\u200d"
"""U+200D ZERO WIDTH JOINER, which joins emoji."""

_MARKS = frozenset({"Mn", "Me", "Mc"})


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


def is_grapheme_boundary(text: str, index: int, start: int = 0) -> bool:
    """Return whether a cut before `text[index]` splits no visible character; both ends of the text are boundaries.

    `start` is a boundary at or before `index`; nothing before it is read.

    A subset of the extended grapheme clusters of Unicode UAX 29: combining marks, joined emoji and skin tones, flags,
    keycaps, Hangul syllables in parts, CR LF, and surrogate halves that a decoder left separate.
    """
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before.isascii() and after.isascii():
        return not (before == "\r" and after == "\n")
    if before == ZERO_WIDTH_JOINER or _extends(after) or _is_split_surrogate_pair(before, after):
        return False
    if _is_regional_indicator(before) and _is_regional_indicator(after):
        return _count_regional_indicators(text, start, index) % 2 == 0
    return not (_is_jamo(before) and _is_jamo(after))


def _extends(character: str) -> bool:
    return (
        character == ZERO_WIDTH_JOINER
        or unicodedata.category(character) in _MARKS
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags of regional flags
    )


def _is_split_surrogate_pair(before: str, after: str) -> bool:
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def _is_regional_indicator(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _count_regional_indicators(text: str, start: int, end: int) -> int:
    """Return the number of regional indicators directly before `end`, none of them before `start`."""
    first = end
    while first > start and _is_regional_indicator(text[first - 1]):
        first -= 1
    return end - first


def _is_jamo(character: str) -> bool:
    return "\u1100" <= character <= "\u11ff"
