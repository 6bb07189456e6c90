"""Where one character, as people see it, ends and the next begins.

A short form of the extended grapheme clusters of Unicode's UAX 29: combining marks, joined and coloured emoji, flags,
keycaps, Hangul syllables in parts, CR LF, and halves of a surrogate pair that a decoder left apart.
"""

import unicodedata

JOINER = "\u200d"
_MARKS = frozenset({"Mn", "Me", "Mc"})


def is_boundary(text: str, index: int) -> bool:
    """Whether a cut before `text[index]` tears no visible character apart; both ends are boundaries."""
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before.isascii() and after.isascii():
        return not (before == "\r" and after == "\n")
    if before == JOINER or _extends(after) or _is_torn_pair(before, after):
        return False
    if _is_flag_half(before) and _is_flag_half(after):
        return _flag_halves_before(text, index) % 2 == 0
    return not (_is_jamo(before) and _is_jamo(after))


def _extends(character: str) -> bool:
    return (
        character == JOINER
        or unicodedata.category(character) in _MARKS
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags, of the flags of regions
    )


def _is_torn_pair(before: str, after: str) -> bool:
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_halves_before(text: str, index: int) -> int:
    start = index
    while start and _is_flag_half(text[start - 1]):
        start -= 1
    return index - start


def _is_jamo(character: str) -> bool:
    return "\u1100" <= character <= "\u11ff"
