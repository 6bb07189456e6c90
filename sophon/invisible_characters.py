"""Text that a person decides on: nothing in it is invisible, reorders it, or can be mistaken for the program's words.

Every character that a screen does not show as itself (controls, bidirectional controls, zero-width signs, tag
characters, unusual spaces, variation selectors, blank letters, unassigned and private ones) becomes `⟦U+202E⟧`. The
opening bracket of such an escape is escaped too, so that no text can forge one. Sources: Unicode Technical Report 36,
3.1; DerivedCoreProperties.txt, Default_Ignorable_Code_Point. Letters of other alphabets that look like Latin ones are
left as they are.
"""

import unicodedata
from functools import lru_cache

from sophon._python.lazy_pattern import lazy_pattern

ESCAPE_OPENING, ESCAPE_CLOSING = "⟦", "⟧"

MAX_BLANKS, MAX_EMPTY_LINES = 40, 5
"""Longest run of blanks, and of empty lines, that is shown as it is; a longer one, which could push text out of sight,
is shown as its length."""

# Printable by category, but shown as nothing, or as a space.
_BLANK_LETTERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U00016fe4\U0001d159"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), 0x2065)))
    + "".join(map(chr, range(0xE0000, 0xE1000)))
)
# Controls, formats, combining marks. Not the unassigned ones: an emoji of a newer Unicode version is visible.
_BLANK_CATEGORIES = frozenset({"Cc", "Cf", "Mn", "Me", "Mc"})
_LONG_BLANKS = lazy_pattern(rf"[ \t]{{{MAX_BLANKS + 1},}}")
_LONG_GAP = lazy_pattern(rf"\n(?:[ \t]*\n){{{MAX_EMPTY_LINES + 1},}}")


def escape_invisible(text: str) -> str:
    """Return the text with every invisible character escaped; newlines and tabs stay. Two texts that differ look
    different. Pure.
    """
    if text.isprintable() and text.isascii():
        return text
    return "".join(map(_visible_form, text))


def is_blank(text: str) -> bool:
    """Return whether nobody can see anything of a text: only white space, controls, zero-width signs,
    ignorable characters, and marks without a letter to stand on. Pure.
    """
    if text.isascii() and text.isprintable():
        return not text.strip(" ")
    return all(
        character.isspace() or character in _BLANK_LETTERS or unicodedata.category(character) in _BLANK_CATEGORIES
        for character in text
    )


def render_for_person(text: str, limit: int | None = None, *, indent: str = "") -> str:
    """Return a text for a person to decide on: escaped, of a text longer than `limit` characters head and tail.

    The mark between them states how many characters are left out. Lines after the first begin with `indent`, so that
    none of them can be read as something else. Without `limit` the text is complete. Pure.
    """
    if limit is None or len(text) <= limit:
        shown = _show(text)
    else:
        head, tail = text[: limit // 2], text[len(text) - (limit - limit // 2) :]
        mark = f"{ESCAPE_OPENING}{len(text) - limit:,} characters left out here{ESCAPE_CLOSING}"
        shown = f"{_show(head)}\n{mark}\n{_show(tail)}"
    return shown.replace("\n", f"\n{indent}")


def _show(text: str) -> str:
    visible = _LONG_BLANKS.sub(lambda found: _mark(f"{len(found[0])} blanks"), escape_invisible(text))
    return _LONG_GAP.sub(lambda found: f"\n{_mark(f'{found[0].count(chr(10)) - 1} empty lines')}\n", visible)


def _mark(text: str) -> str:
    return f"{ESCAPE_OPENING}{text}{ESCAPE_CLOSING}"


@lru_cache(maxsize=4096)
def _visible_form(char: str) -> str:
    if char in "\n\t" or (char.isprintable() and char != ESCAPE_OPENING and char not in _BLANK_LETTERS):
        return char
    return _mark(f"U+{ord(char):04X}")
