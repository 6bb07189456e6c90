"""Relevance of tools to a text: whole-word matching against an index that is built once, at registration.

Source of the scores: Sophon's guide, tool filter (+1.0 per matching tag, +0.5 per matching keyword of the description).
"""

import re
from collections.abc import Iterable, Sequence

from sophon._python.lazy_pattern import lazy_pattern
from sophon.tools.tool import Tool

TAG_SCORE = 1.0
KEYWORD_SCORE = 0.5

_CAMEL_CASE = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = lazy_pattern(r"[^\W_]+")
STOP_WORDS = frozenset(
    """a about above after again all also an and any are as at be been before being below between both but by can could
    did do does doing down during each else etc few for from further given gives had has have having he her here hers
    him his how i if in into is it its itself just me more most must my no nor not now of off on once only or other our
    out over own per same she should so some such than that the their them then there these they this those through to
    too under until up upon us use used uses using very via was we were what when where which while who whom why will
    with without would you your""".split()  # noqa: SIM905 - a list of 130 quoted words cannot be read
)
"""Words that say nothing about what a text is about."""


def split_words(text: str) -> list[str]:
    """Return the lower-case words of a text; a dot, dash or underscore separates words."""
    return _WORD.findall(text.lower())


def split_name(name: str) -> frozenset[str]:
    """Return the lower-case words of a tool's name: `mail.sendLetter` has mail, send and letter."""
    return frozenset(split_words(_CAMEL_CASE.sub(" ", name)))


class RelevanceIndex:
    """Inverted index: word -> tools with their scores, from tags and descriptions."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._scores: dict[str, list[tuple[str, float]]] = {}
        self._phrases: list[tuple[Sequence[str], str]] = []
        self._order: dict[str, int] = {}
        self._names: dict[str, list[str]] = {}
        """First word of a tool name -> names, so that a text is not searched for every name."""
        self._name_words: dict[str, list[str]] = {}
        """Every word of a tool name -> names."""
        for tool in tools:
            self._order[tool.name] = len(self._order)
            for head in split_words(tool.name)[:1]:
                self._names.setdefault(head, []).append(tool.name)
            for word in split_name(tool.name) - STOP_WORDS:
                self._name_words.setdefault(word, []).append(tool.name)
            for parts in dict.fromkeys(tuple(split_words(tag)) for tag in tool.tags):
                if len(parts) == 1:
                    self._scores.setdefault(parts[0], []).append((tool.name, TAG_SCORE))
                elif parts:
                    self._phrases.append((parts, tool.name))
            for keyword in dict.fromkeys(split_words(tool.description)):
                if keyword not in STOP_WORDS:
                    self._scores.setdefault(keyword, []).append((tool.name, KEYWORD_SCORE))

        phrases = (parts[0] for parts, _ in self._phrases)
        self._words = frozenset({*self._scores, *self._names, *self._name_words, *phrases})

    def may_match(self, text: str) -> bool:
        """Return whether a text has the first word of a tag, keyword or name: without one, nothing is found in it."""
        return not self._words.isdisjoint(split_words(text))

    def score_tools(self, text: str) -> dict[str, float]:
        """Return tool name -> score, for the tools with a score above zero."""
        sequence = split_words(text)
        found: dict[str, float] = {}
        for word in dict.fromkeys(sequence):
            for name, score in self._scores.get(word, ()):
                found[name] = found.get(name, 0.0) + score
        joined = f" {' '.join(sequence)} " if self._phrases else ""
        for parts, name in self._phrases:
            if f" {' '.join(parts)} " in joined:
                found[name] = found.get(name, 0.0) + TAG_SCORE
        return found

    def count_name_words(self, text: str) -> dict[str, int]:
        """Return tool name -> number of its name's words in the text, if any: it breaks ties between equal scores."""
        found: dict[str, int] = {}
        for word in set(split_words(text)):
            for name in self._name_words.get(word, ()):
                found[name] = found.get(name, 0) + 1
        return found

    def find_named_tools(self, text: str) -> list[str]:
        """Return the tools whose full names occur in the text, in registration order."""
        found: list[str] = []
        for head in self._names.keys() & split_words(text):
            found += [name for name in self._names[head] if _is_whole_name(name.lower(), text.lower())]
        return sorted(found, key=self._order.__getitem__)


def _is_whole_name(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w]|\.\w)", text) is not None
