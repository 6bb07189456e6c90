"""Grammars of messages: a notation for what people write, compiled to expressions of RE2, whose time is linear.

The notation is that of speech grammars (JSGF), with less: `a b` in this order, `a | b` either, `[a]` perhaps, `(a | b)`
grouped, `<name>` another rule or a terminal, `..` up to three words of any kind, `...` up to ten, and `send/s/ing` a
word with its endings (send, sends, sending). A grammar is a text: `<name> = ...` is a rule, `[name]` begins a section
of patterns, one a line; a line that begins with two blanks continues the one before.

Texts are compared without accents and in any case, so rules are written in plain small letters.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from sophon.decisions.grammar_terminals import GAP, TERMINALS, UNSPACED

_TOKEN: Final = re.compile(r"\s*(\.{2,3}|[\[\]()|]|<[a-z_]+>|[^\s\[\]()|<>]+)")
_RULE: Final = re.compile(r"<([a-z_]+)> = (.*)")
_SECTION: Final = re.compile(r"\[([a-z ]+)\]")
_WORD: Final = r"[,:]? [^ ]*[^ .;,:]"
_SOME_WORDS: Final = {"..": rf"(?:{_WORD}){{0,3}}?", "...": rf"(?:{_WORD}){{0,10}}?"}


class Grammar:
    """Rules of one language and the patterns of its sections; the text is read at the first use."""

    def __init__(self, text: str, language: str = "") -> None:
        self._text, self.language = text, language

    @cached_property
    def _parts(self) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]]]:
        return read_grammar(self._text)

    @property
    def rules(self) -> Mapping[str, str]:
        """The rules by name, without brackets."""
        return self._parts[0]

    @cached_property
    def expressions(self) -> dict[str, str]:
        """The expressions of rules that were needed so far."""
        return {}

    @property
    def sections(self) -> Mapping[str, Sequence[str]]:
        """The patterns of each section."""
        return self._parts[1]


def read_grammar(text: str) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]]]:
    """Return the rules by name, and the patterns by section. Raises ValueError for a pattern outside of a section."""
    rules: dict[str, str] = {}
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in _join_lines(text):
        if (rule := _RULE.fullmatch(line)) is not None:
            rules[rule[1]] = rule[2]
        elif (section := _SECTION.fullmatch(line)) is not None:
            current = sections.setdefault(section[1], [])
        elif current is None:
            raise ValueError(f"the pattern {line!r} is in no section")
        else:
            current.append(line)
    return rules, sections


def to_expression(source: str, grammar: Grammar) -> str:
    """Return the expression of a pattern. Raises ValueError for one that is not well-formed, or names no rule."""
    return _read_choice(iter(_TOKEN.findall(source)), grammar, end="", source=source)


def _join_lines(text: str) -> Iterator[str]:
    joined = ""
    for line in text.splitlines():
        if line.startswith("  "):
            joined = f"{joined} {line.strip()}"
        else:
            if joined:
                yield joined
            joined = line.strip()
    if joined:
        yield joined


def _read_choice(tokens: Iterator[str], grammar: Grammar, *, end: str, source: str) -> str:
    """Read the alternatives up to the token `end`."""
    choices, current = list[str](), list[str]()
    for read in tokens:
        if read == end:
            break
        if read == "|":
            choices.append("".join(current))
            current = []
        elif read == "(":
            current.append(_read_choice(tokens, grammar, end=")", source=source))
        elif read == "[":
            current.append(f"{_read_choice(tokens, grammar, end=']', source=source)}?")
        elif read in (")", "]"):
            raise ValueError(f"{read!r} closes nothing in {source!r}")
        else:
            current.append(_to_element(read, grammar))
    else:
        if end:
            raise ValueError(f"{end!r} is missing in {source!r}")
    return f"(?:{'|'.join([*choices, ''.join(current)])})"


def _to_element(token: str, grammar: Grammar) -> str:
    if token in _SOME_WORDS:
        return _SOME_WORDS[token]
    if not token.startswith("<"):
        stem, *endings = token.split("/")
        ending = f"(?:{'|'.join(map(re.escape, endings))})?" if endings else ""
        return rf"{GAP}{re.escape(stem)}{ending}\b"
    name = token[1:-1]
    if name in UNSPACED:
        return UNSPACED[name]
    if name in TERMINALS:
        return f"{GAP}{TERMINALS[name]}"
    if name not in grammar.expressions:
        if name not in grammar.rules:
            raise ValueError(f"there is no rule {token}")
        grammar.expressions[name] = to_expression(grammar.rules[name], grammar)
    return grammar.expressions[name]
