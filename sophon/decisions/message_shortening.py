"""Shortening of a long message for routing: what it asks for stands in a few of its words.

Source: WASP, Decision Layer.
"""

from collections.abc import Sequence
from typing import Any, Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.family_patterns import FAMILIES, TARGETS, SearchPattern

MAX_CHARACTERS: Final = 400
"""A longer message is compacted to at most so many characters."""

MAX_SENTENCE, SENTENCE_WINDOW = 200, 250
MAX_PHRASES, MAX_TARGETS, MAX_URLS = 3, 5, 2
READ_CHARACTERS: Final = 20_000
"""Beginning of a message that is searched for phrases and targets."""

_SENTENCE_END = lazy_pattern(r"[.!?\n]")
_URL = lazy_pattern(r"https?://\S{1,300}")


def shorten_for_routing(text: str) -> str:
    """Return a text of at most MAX_CHARACTERS: the first sentence, scheduling phrases, targets and addresses."""
    text = text.strip()
    if len(text) <= MAX_CHARACTERS:
        return text
    beginning, searched = text[:SENTENCE_WINDOW], text[:READ_CHARACTERS]
    end = _SENTENCE_END.search(beginning)
    parts = [beginning[: end.end() if end else SENTENCE_WINDOW][:MAX_SENTENCE]]
    parts += _find(FAMILIES["schedule"], searched, MAX_PHRASES)
    parts += _find(TARGETS, searched, MAX_TARGETS)
    parts += _find((_URL,), searched, MAX_URLS)
    return " ".join(dict.fromkeys(parts))[:MAX_CHARACTERS]


def _find(patterns: Sequence[SearchPattern], text: str, most: int) -> list[str]:
    """Return the first occurrences of the patterns, in the order of the text."""
    found = {(match.span()[0], match.group(0)) for pattern in patterns for match in _first(pattern, text, most)}
    return [phrase for _, phrase in sorted(found)[:most]]


def _first(pattern: SearchPattern, text: str, most: int) -> list[Any]:
    matches: list[Any] = []
    for match in pattern.finditer(text):
        matches.append(match)
        if len(matches) == most:
            break
    return matches
