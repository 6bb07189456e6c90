"""Grapheme boundaries: where one user-perceived character ends and the next begins.

A subset of the extended grapheme clusters of Unicode UAX 29: combining marks, joined emoji and skin tones, flags,
keycaps, Hangul syllables in parts, CR LF, and surrogate halves that a decoder left separate.
"""

import unicodedata

ZERO_WIDTH_JOINER = "\u200d"
"""U+200D ZERO WIDTH JOINER, which joins emoji."""
_MARKS = frozenset({"Mn", "Me", "Mc"})


def is_grapheme_boundary(text: str, index: int, start: int = 0) -> bool:
    """Return whether a cut before `text[index]` splits no visible character; both ends of the text are boundaries.

    `start` is a boundary at or before `index`; nothing before it is read.
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
