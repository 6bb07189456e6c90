"""Expansion of words: the fields that the shell makes of a word, with every value that a variable in it may have.

Within this module a text has marks, characters for private use: where it is split, and what of it is not known, a
pattern, or a brace. A quoted character is never a mark.
"""

import re
import string
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, product
from typing import Final

from tree_sitter import Node

from sophon.security.commands.evaluation.possible_texts import MAX_ALTERNATIVES, Texts, UnresolvedText
from sophon.security.commands.evaluation.variables import Variables
from sophon.security.commands.syntax import SyntaxProblem, Word, node_text, remove_escapes

MAX_EXPANSIONS: Final = 4000
"""Words that are expanded in a script and those in it; each takes 5 to 30 microseconds."""

_PLAIN: Final = re.compile(r"[\w./=:@%+-]+")

_SPLIT, _QUOTED, _UNKNOWN, _KNOWN = "\ue000", "\ue001", "\ue002", "\ue003"

_ACTIVE: Final = {"{": "\ue010", ",": "\ue011", "}": "\ue012", "*": "\ue013", "?": "\ue014", "[": "\ue015"}

_GLOBS: Final = "\ue013\ue014\ue015"

_RESTORED: Final = str.maketrans(
    {mark: plain for plain, mark in _ACTIVE.items()} | dict.fromkeys("\ue001\ue002\ue003", "")
)

MARKS: Final = re.compile("[\ue000-\ue01f]")
"""Characters that no script may have that is expanded."""

_BRACES: Final = re.compile("\ue010([^\ue010\ue012]*)\ue012")

_SEQUENCE: Final = re.compile(r"\{(-?\d{1,3}|[A-Za-z])\.\.(-?\d{1,3}|[A-Za-z])\}")

_UNKNOWN_PART: Final = re.compile("\ue002.*?\ue003", re.DOTALL)

_MAX_CODE_POINT: Final = 0x10FFFF

_LETTERS: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
    **{each: each for each in "\\'\"?"},
}

_CODES: Final = r"x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|c.|[A-Za-z\\'\"?]"

_ESCAPE: Final = re.compile(rf"\\([0-7]{{1,3}}|{_CODES})", re.DOTALL)

_ECHO_ESCAPE: Final = re.compile(rf"\\(0[0-7]{{1,3}}|[0-7]{{1,3}}|{_CODES})", re.DOTALL)


class TooManyExpansions(SyntaxProblem):
    """A script with more words, or more values of one, than are looked at."""


class Expander:
    """Expands the words of one script. `substitute` returns what a command substitution may write.

    Its methods raise TooManyExpansions.
    """

    def __init__(self, variables: Variables, substitute: Callable[[Node], Texts]) -> None:
        self._variables, self._substitute = variables, substitute

    def expand(self, node: Node) -> list[list[Word]]:
        """Return the alternatives of a word, each with the fields that it becomes."""
        self._variables.expansions += 1
        if self._variables.expansions > MAX_EXPANSIONS:
            raise TooManyExpansions
        if node.type == "word" and _PLAIN.fullmatch(text := node_text(node)):
            return [[Word(text)]]
        found: dict[tuple[Word, ...], None] = {}
        for text in self._expand(node, is_quoted=False):
            fields = [field for each in _expand_braces(text) for field in each.split(_SPLIT) if field]
            found[tuple(map(_to_word, fields))] = None
        return [list(each) for each in found]

    def read_value(self, node: Node) -> Texts:
        """Return the value of an assignment, or the text of a here-string: it is not split."""
        texts = self._expand(node, is_quoted=True)
        if any(_UNKNOWN in each for each in texts):
            return None
        return tuple(each.replace(_SPLIT, " ").translate(_RESTORED) for each in texts)

    def read_document(self, node: Node) -> Texts:
        """Return the text of a here-document; where it is not known, it is unresolved."""
        texts = self._expand_quoted(node, node.start_byte, node.end_byte)
        plain = [each.replace(_SPLIT, " ").translate(_RESTORED) for each in texts]
        return tuple(
            UnresolvedText(each) if _UNKNOWN in text else each for each, text in zip(plain, texts, strict=True)
        )

    def _expand(self, node: Node, *, is_quoted: bool) -> list[str]:
        kind, text = node.type, node_text(node)
        if kind in _LITERALS:
            return [_read_literal(text)]
        if kind == "raw_string":
            return [_QUOTED + text[1:-1]]
        if kind == "ansi_c_string":
            return [_QUOTED + decode_escapes(text[2:-1])]
        if kind in ("string", "translated_string"):
            return self._expand_string(node)
        if kind == "concatenation":
            parts = [child for child in node.children if child.is_named or node_text(child) != "$"]
            if len(parts) < len(node.children) and not any(each.type == "string" for each in parts):
                return [_unknown(text)]  # the grammar has cut the word short
            return self._combine(self._expand(child, is_quoted=is_quoted) for child in parts)
        if kind == "``":
            return [""]
        if kind == "brace_expression":
            return [_expand_sequence(text)]
        return self._expand_expression(node, is_quoted=is_quoted)

    def _expand_expression(self, node: Node, *, is_quoted: bool) -> list[str]:
        """Return what the shell computes for a part of a word."""
        text = node_text(node)
        if node.type == "simple_expansion":
            texts = self._variables.get(text[1:])
        elif node.type == "expansion":
            for each in _find_substitutions(node):
                self._substitute(each)
            texts = self._variables.expand(text)
        elif node.type == "command_substitution":
            found = self._substitute(node)
            texts = None if found is None else tuple(each.rstrip("\n") for each in found)
        else:
            for each in [node] if node.type == "process_substitution" else _find_substitutions(node):
                self._substitute(each)
            texts = None
        if texts is None or not texts or any(MARKS.search(each) for each in texts):
            return [_unknown(text)]
        if is_quoted and text not in ("$@", "${@}"):
            return [_QUOTED + each for each in texts]
        splits = str.maketrans(
            dict.fromkeys(self._variables.separators, _SPLIT) | {each: _ACTIVE[each] for each in "*?["}
        )
        return list(dict.fromkeys(each.translate(splits) for each in texts))

    def _expand_string(self, node: Node) -> list[str]:
        """Return the alternatives of a text in double quotes."""
        return self._expand_quoted(node, node.start_byte + node_text(node).index('"') + 1, node.end_byte - 1)

    def _expand_quoted(self, node: Node, start: int, end: int) -> list[str]:
        """Return the alternatives of what is between two offsets; white space between its parts is no part itself."""
        parts: list[list[str]] = [[_QUOTED]]
        for child in node.children:
            if child.type in ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"):
                parts.append([_read_quoted(node_text(node, start, child.start_byte))])
                is_list = node_text(child) in ("$@", "${@}") or "[@]" in node_text(child)
                parts.append(self._expand(child, is_quoted=not is_list))
                start = child.end_byte
        parts.append([_read_quoted(node_text(node, start, end))])
        return self._combine(parts)

    def _combine(self, parts: Iterable[list[str]]) -> list[str]:
        found = ["".join(each) for each in islice(product(*parts), MAX_ALTERNATIVES + 1)]
        if len(found) > MAX_ALTERNATIVES:
            raise TooManyExpansions
        return list(dict.fromkeys(found))


def _find_substitutions(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type in ("command_substitution", "process_substitution"):
            yield child
        else:
            yield from _find_substitutions(child)


def _read_literal(text: str) -> str:
    """Return an unquoted text without escapes, its braces and patterns marked."""
    if "\\" not in text:
        return text.translate(_MARKED)
    parts = re.split(r"(\\.)", text, flags=re.DOTALL)
    return "".join(
        (_QUOTED + part[1:]).replace("\n", "") if index % 2 else part.translate(_MARKED)
        for index, part in enumerate(parts)
    )


_MARKED: Final = str.maketrans(_ACTIVE)


def _read_quoted(text: str) -> str:
    return remove_escapes(text, only='"\\$`\n')


def _unknown(text: str) -> str:
    return f"{_UNKNOWN}{text}{_KNOWN}"


def _expand_sequence(text: str) -> str:
    match = _SEQUENCE.fullmatch(text)
    if match is None:
        return _unknown(text) if ".." in text else text
    first, last = match[1], match[2]
    if first.lstrip("-").isdigit() != last.lstrip("-").isdigit():
        return text
    is_number = first.lstrip("-").isdigit()
    low, high = (int(first), int(last)) if is_number else (ord(first), ord(last))
    step = 1 if low <= high else -1
    elements = [str(each) if is_number else chr(each) for each in range(low, high + step, step)][:MAX_ALTERNATIVES]
    return f"\ue010{chr(0xE011).join(elements)}{chr(0xE011) if len(elements) == 1 else ''}\ue012"


def _expand_braces(text: str) -> list[str]:
    """Return the words that braces make of one, in their order."""
    if len(text) > _MAX_BRACED_CHARACTERS:
        return [text]
    pending, done = [text], list[str]()
    while pending and len(pending) + len(done) <= MAX_ALTERNATIVES:
        each = pending.pop(0)
        match = _BRACES.search(each)
        if match is None:
            done.append(each)
        elif "\ue011" not in match[1]:  # braces without a comma are text, or a sequence
            inner = _expand_sequence(f"{{{match[1]}}}")
            pending.insert(0, f"{each[: match.start()]}{inner}{each[match.end() :]}")
        else:
            options = match[1].split("\ue011")
            pending[:0] = [each[: match.start()] + option + each[match.end() :] for option in options]
    return done + pending


_MAX_BRACED_CHARACTERS: Final = 2000


def _to_word(field: str) -> Word:
    """Return a word; it is hidden if a program of this name could be any."""
    name = _UNKNOWN_PART.sub(_UNKNOWN, field).rpartition("/")[2]
    is_hidden = _UNKNOWN in name or any(mark in name for mark in _GLOBS)
    text = field.translate(_RESTORED)
    is_dynamic = _UNKNOWN in field or any(mark in field for mark in _GLOBS) or text.startswith("~")
    return Word(text, is_dynamic, is_hidden)


_LITERALS: Final = frozenset(
    {"word", "number", "variable_name", "file_descriptor", "test_operator", "special_variable_name", "extglob_pattern"}
)


def decode_escapes(text: str, *, is_echo: bool = False) -> str:
    """Return the text of a `$'...'` string, or of `echo -e` and `printf`, with its escapes replaced."""
    pattern = _ECHO_ESCAPE if is_echo else _ESCAPE
    return pattern.sub(_decode_escape, text)


def _decode_escape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:].strip("{}"), 16)
    elif code[0] in string.octdigits:
        number = int(code, 8) % 256
    elif code[0] == "c" and len(code) == 2:
        number = ord(code[1]) & 31
    else:
        return _LETTERS.get(code, match[0])
    return chr(number) if number <= _MAX_CODE_POINT and not 0xD800 <= number < 0xE000 else match[0]
