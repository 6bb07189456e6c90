"""Snippet of a message: the text around the first place where the terms of a query match, in marked pieces."""

import unicodedata
from collections.abc import Sequence
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.message_search.terms import Term, find_matches, fold, fold_character

SNIPPET_CHARACTERS: Final = 200
LEAD_CHARACTERS: Final = 60
"""Characters of a snippet, and of these before the first match."""

ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class SnippetPart:
    """Piece of a snippet; `is_match`: a term of the query matches it."""

    text: str
    is_match: bool = False


def make_snippet(text: str, terms: Sequence[Term]) -> list[SnippetPart] | None:
    """Return the text around the first match; None unless every term matches somewhere in the text."""
    spans = find_matches(fold(text), terms)
    if not spans:
        return None
    spans = _to_original_spans(text, spans)
    start, end = _window(text, spans[0][0])
    parts = [SnippetPart(ELLIPSIS)] if start else []
    at = start
    for first, last in spans:
        if first < at or first >= end:
            continue
        if first > at:
            parts.append(SnippetPart(_to_line(text[at:first])))
        at = min(last, end)
        parts.append(SnippetPart(_to_line(text[first:at]), is_match=True))
    if at < end:
        parts.append(SnippetPart(_to_line(text[at:end])))
    if end < len(text):
        parts.append(SnippetPart(ELLIPSIS))
    return parts


def _window(text: str, first_match: int) -> tuple[int, int]:
    """Return the bounds of the snippet; it begins after a space if there is one near."""
    start = max(first_match - LEAD_CHARACTERS, 0)
    if start:
        space = text.find(" ", start, first_match)
        start = space + 1 if space >= 0 else start
    return start, min(start + SNIPPET_CHARACTERS, len(text))


def _to_original_spans(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of the original characters. A character may fold to several, or to none."""
    if text.isascii():
        return [*spans]
    origin = [index for index, character in enumerate(text) for _ in fold_character(character)]
    return [(origin[start], _end_of_character(text, origin[end - 1])) for start, end in spans]


def _end_of_character(text: str, index: int) -> int:
    """Return the end of a character with the accents that follow it."""
    end = index + 1
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return end


def _to_line(text: str) -> str:
    """Return the text with each line break, tab and control character as a space."""
    return "".join(" " if character < " " or character in "\x7f\x85\u2028\u2029" else character for character in text)
