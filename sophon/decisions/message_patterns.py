"""Patterns of messages in the notation of `sophon.decisions.message_grammar`: whole messages, and phrases in them."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from sophon.decisions.message_grammar import Grammar, to_expression
from sophon.security.linear_patterns import LinearPattern, compile_linear, make_encodable

_ACCENTED: Final = "áéíóúüñàèìòùâêîôûäëïöÁÉÍÓÚÜÑÀÈÌÒÙÂÊÎÔÛÄËÏÖ’“”«»"
_PLAIN: Final = 'aeiouunaeiouaeiouaeioaeiouunaeiouaeiouaeio\'""""'
_FOLD: Final = str.maketrans(_ACCENTED, _PLAIN)
_OPENING: Final = str.maketrans("¿¡", "  ")
_MARKS: Final = str.maketrans('"“”«»()[]¿¡!?…', "           ...")
NAMED_GROUP: Final = re.compile(r"\(\?P<(\w+)>")


def fold(text: str) -> str:
    """Return a text in small letters without accents and typographic quotes, of the same length."""
    plain = text.translate(_FOLD)
    lower = plain.lower()
    return (
        lower if len(lower) == len(text) else "".join(low if len(low := each.lower()) == 1 else each for each in plain)
    )


@lru_cache(maxsize=4)
def to_words(text: str) -> str:
    """Return a text as phrases are searched in: one line that begins with a blank, folded, without quotes."""
    return " " + " ".join(fold(make_encodable(text).translate(_MARKS)).split())


class MessageForms:
    """The patterns of whole messages of one section of a grammar.

    A match is the named parts of the first that matches, as they were written, "" for those that are absent, and the
    `language` of the grammar. What that has as `<before>` and `<behind>`, such as "please", may stand around them, and
    punctuation behind them. All are one expression without groups; which it was is asked of a text that matches.
    Compiled at the first use.
    """

    __slots__ = ("_any", "_forms", "_grammar", "sources")

    def __init__(self, sources: Sequence[str], grammar: Grammar) -> None:
        self.sources, self._grammar = sources, grammar
        self._any: LinearPattern | None = None
        self._forms: dict[str, tuple[LinearPattern, Sequence[str]]] = {}

    def fullmatch(self, text: str, /) -> Mapping[str, str] | None:
        """Return the named parts of a text that matches as a whole, otherwise None."""
        if self._any is None:
            self._any = compile_linear(f"^(?:{_join(self.sources, self._grammar)})$")
        cores = list_cores(text, self._grammar)
        if all(self._any.find_span(data, 0) is None for _, _, data in cores):
            return None
        for source in self.sources:
            pattern, names = self._get_form(source)
            # Words that are sent on keep what stands behind them.
            for line, folded, _ in reversed(cores) if source.endswith("<body>") else cores:
                match: Any = pattern.fullmatch(folded)
                if match is not None:
                    return {"language": self._grammar.language, **_read_parts(line, match, names)}
        return None

    def _get_form(self, source: str) -> tuple[LinearPattern, Sequence[str]]:
        form = self._forms.get(source)
        if form is None:
            expression = to_expression(source, self._grammar)
            # By number: alternatives of a rule have the same names, and these are the only groups.
            form = compile_linear(NAMED_GROUP.sub("(", expression)), NAMED_GROUP.findall(expression)
            self._forms[source] = form
        return form


def _read_parts(line: str, match: Any, names: Sequence[str]) -> Mapping[str, str]:
    parts = dict.fromkeys(names, "")
    for number, name in enumerate(names, 1):
        start, end = match.span(number)
        parts[name] = parts[name] or line[max(start, 0) : max(end, 0)].strip()
    return parts


Core: TypeAlias = tuple[str, str, bytes]
"""A line, the line as it is compared, and that in UTF-8."""


@lru_cache(maxsize=16)
def list_cores(text: str, grammar: Grammar) -> Sequence[Core]:
    """Return a text in one line that begins with a blank: as it is, and without politeness and marks around it."""
    line = " " + " ".join(make_encodable(text).translate(_OPENING).split())
    begin = _compile_edge(grammar, "before").search(fold(line))
    lines = [line] if begin is None else [line, line[begin.span()[1] :]]
    lines += [each.rstrip(" .!?…") for each in lines]
    ends = [_compile_edge(grammar, "behind").search(fold(each)) for each in lines]
    lines += [each[: end.span()[0]] for each, end in zip(lines, ends, strict=True) if end is not None]
    return [(each, folded, folded.encode()) for each in dict.fromkeys(reversed(lines)) if (folded := fold(each))]


@lru_cache(maxsize=16)
def _compile_edge(grammar: Grammar, rule: str) -> LinearPattern:
    expression = to_expression(f"<{rule}>", grammar)
    return compile_linear(f"^{expression}" if rule == "before" else f"{expression}$")


class Phrase:
    """Pattern of a phrase anywhere in a text. `section`: those that are searched for with it, at once at first."""

    __slots__ = ("_compiled", "_section", "source")

    def __init__(self, source: str, section: "PhraseSection") -> None:
        self.source, self._section = source, section
        self._compiled: LinearPattern | None = None

    def search(self, text: str, /) -> Any:
        """Return the first match in `to_words(text)`, or None."""
        words = to_words(text)
        return self._compile().search(words) if self._section.occurs_in(words) else None

    def finditer(self, text: str, /) -> Any:
        """Yield the matches in `to_words(text)`."""
        words = to_words(text)
        return self._compile().finditer(words) if self._section.occurs_in(words) else iter(())

    def _compile(self) -> LinearPattern:
        if self._compiled is None:
            self._compiled = compile_linear(_join([self.source], self._section.grammar))
        return self._compiled


class PhraseSection:
    """The phrases of one section of a grammar, as one expression; compiled at the first use."""

    def __init__(self, sources: Sequence[str], grammar: Grammar) -> None:
        self.sources, self.grammar = sources, grammar
        self._any: LinearPattern | None = None
        self._last: tuple[str, bool] = "", False

    @property
    def phrases(self) -> Sequence[Phrase]:
        """The phrases."""
        return [Phrase(each, self) for each in self.sources]

    def occurs_in(self, words: str) -> bool:
        """Return whether any of the phrases occurs in `to_words(text)`."""
        last = self._last  # read and replaced as a whole: threads share it
        if last[0] != words:
            if self._any is None:
                self._any = compile_linear(_join(self.sources, self.grammar))
            last = self._last = words, self._any.find_span(words.encode(), 0) is not None
        return last[1]


def _join(sources: Sequence[str], grammar: Grammar) -> str:
    """Return one expression for all of the patterns, without groups."""
    return NAMED_GROUP.sub("(?:", "|".join(to_expression(each, grammar) for each in sources))
