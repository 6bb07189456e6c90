"""Search for secrets by their form, at about the speed of RE2.

RE2 finds the anchors of all forms in one pass over the text, and `re` tries the patterns only there: the result is that
of a search for the alternation of all patterns (`secret_pattern`), which takes seconds for a megabyte.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from sophon._python.lazy_pattern import lazy_pattern
from sophon.security.redaction.known_secrets import MARKER
from sophon.security.redaction.secret_form import MAX_ANCHOR_CHARACTERS
from sophon.security.redaction.secret_patterns import ASSIGNED_ATTRIBUTES, FIRST_WIDE_STOP, SECRET_FORMS, STOP

if TYPE_CHECKING:
    from sophon.security.linear_patterns import LinearPattern

_NEGATED_CLASS = lazy_pattern(re.escape(f"[^{STOP}") + r"((?:\\.|[^\]\\])*)\]")

_ASSIGNED_FIRST = frozenset(b"pPsS")
"""First letters of `ASSIGNED_ATTRIBUTES`."""

_ASSIGNED_CHARACTERS = 40
"""In front of the first dot of `ASSIGNED_ATTRIBUTES`, at most."""

MAX_HEAD_CHARACTERS = 16
"""Of the part of a head that may stand behind the end of an anchor."""

_MANY = 8
"""Anchors of a text that are searched for in all of it."""

_MAX_BYTES = 3
"""Of a character in front of which no text is cut (`FIRST_WIDE_STOP`)."""

_BEFORE_ALL = (-1, -1)
_BEHIND_ALL = (sys.maxsize, sys.maxsize)


def replace_secrets(text: str) -> str:
    """Return the text with every secret that is known by its form replaced by the marker."""
    parts: list[str] = []
    end = 0
    for match in find_secrets(text):
        kept = match.lastgroup
        parts += (text[end : match.start()], match[kept] if kept else "", MARKER)
        end = match.end()
    return "".join([*parts, text[end:]]) if parts else text


def find_secrets(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `secret_pattern` in the text, in order."""
    data = text.encode("utf-8", "replace")
    anchors, patterns, heads = _AnchorSearch(data, len(text)), patterns_by_head(), _heads()
    skip = _assigned_attributes()
    is_ascii = len(data) == len(text)
    end = at = known_byte = known_place = 0
    while (span := anchors.find(at)) is not None:
        start, stop = span
        if data[start] in _ASSIGNED_FIRST and data.find(b".", start, start + _ASSIGNED_CHARACTERS) > start:
            excepted = skip.match_end(data, start)
            if excepted > start:  # code may have many of these, and each would be tried
                at = excepted
                continue
        if is_ascii:
            place, last = max(start, end), stop
        else:
            known_place += len(data[known_byte:start].decode())
            place, last = max(known_place, end), known_place + len(data[start:stop].decode())
            known_byte, known_place = stop, last
        # RE2 does not report an anchor that begins within another one. A head may end behind it.
        while (head := heads.search(text, place, last + MAX_HEAD_CHARACTERS)) is not None and head.start() < last:
            place = head.start()
            match = patterns[head[0][:2]].match(text, place)
            if match is None:
                place += 1
                continue
            yield match
            place = end = match.end()
        # Wherever a secret begins there is an anchor, so what lies within this one need not be searched.
        at = max(stop, end, start + 1) if is_ascii else max(stop, start + 1)


class _AnchorSearch:
    """Search for the next anchor in a text, encoded as UTF-8.

    RE2 does not know that an anchor ends before it has looked at everything that a longer or an earlier one could be,
    which may be the rest of the text. After a number of anchors, which few texts have, it is given a part of the text
    at a time, so that a text of anchors alone does not take quadratic time.
    """

    __slots__ = ("_data", "_found", "_long", "_reach")

    def __init__(self, data: bytes, characters: int) -> None:
        self._data = data
        self._found = 0
        self._reach = MAX_ANCHOR_CHARACTERS * (1 if len(data) == characters else _MAX_BYTES)
        self._long = _BEFORE_ALL
        """The next anchor of a long form."""

    def find(self, at: int) -> tuple[int, int] | None:
        """Return the place of the first anchor from `at` on, or of one that holds it, or None."""
        self._found += 1
        if self._found <= _MANY:
            return compile_anchors().find_span(self._data, at)
        if self._long[0] < at:
            self._long = compile_anchors(is_long=True).find_span(self._data, at) or _BEHIND_ALL
        span = self._find_short(at, min(len(self._data), self._long[0] + self._reach))
        if span is not None and span[0] <= self._long[0]:
            return span
        return None if self._long is _BEHIND_ALL else self._long

    def _find_short(self, at: int, last: int) -> tuple[int, int] | None:
        short = compile_anchors(is_long=False)
        while True:
            end = at + 2 * self._reach
            if end >= last:
                return short.find_span(self._data, at, last)
            span = short.find_span(self._data, at, end)
            # Of one that begins later the part of the text may hold too little, or an earlier one may go on behind it.
            if span is not None and span[0] <= at + self._reach:
                return span
            at += self._reach


@cache
def secret_pattern() -> re.Pattern[str]:
    """Return the alternation of all forms; what `find_secrets` must find."""
    return _compile(tuple(form.pattern for form in SECRET_FORMS))


@cache
def compile_anchors(*, is_long: bool | None = None) -> "LinearPattern":
    """Return the pattern of the anchors of all forms, or of those that are long or not."""
    # Lazy: most processes of the command line never make an error.
    from sophon.security.linear_patterns import compile_linear

    anchors = dict.fromkeys(form.anchor for form in SECRET_FORMS if is_long is None or form.is_long is is_long)
    return compile_linear("|".join(anchors), ignore_case=True)


@cache
def _assigned_attributes() -> "LinearPattern":
    from sophon.security.linear_patterns import compile_linear  # lazy: as above

    return compile_linear(ASSIGNED_ATTRIBUTES, ignore_case=True)


@cache
def _heads() -> re.Pattern[str]:
    """Return the pattern of what a secret can begin with, in any case."""
    rests: dict[str, set[str]] = {}
    for head in (head for form in SECRET_FORMS for head in form.heads):
        rests.setdefault(head[0], set()).add(head[1:])
    alternatives = (f"{_any_case(first)}(?:{'|'.join(map(_any_case, sorted(rests[first])))})" for first in rests)
    return re.compile("|".join(alternatives))


def _any_case(word: str) -> str:
    return "".join(f"[{re.escape(''.join(sorted({each, each.upper()})))}]" for each in word)


@cache
def patterns_by_head() -> dict[str, re.Pattern[str]]:
    """Return for the first two characters of each head the alternation of the forms that begin with them."""
    by_head: dict[str, tuple[str, ...]] = {}
    for form in SECRET_FORMS:
        for head in {head[:2] for head in form.heads}:
            by_head[head] = (*by_head.get(head, ()), form.pattern)
    return _HeadPatterns(by_head)


class _HeadPatterns(dict[str, re.Pattern[str]]):
    """Compiled patterns by head, in any case. One is compiled when it is first asked for: all take 0.2 s."""

    def __init__(self, alternations: Mapping[str, tuple[str, ...]]) -> None:
        self._alternations = alternations

    def __missing__(self, head: str) -> re.Pattern[str]:
        pattern = self[head] = _compile(self._alternations[head.lower()])
        return pattern


@cache
def _compile(patterns: tuple[str, ...]) -> re.Pattern[str]:
    listed = _NEGATED_CLASS.sub(lambda negated: _list_characters(negated[1]), "|".join(patterns))
    return re.compile(listed, re.IGNORECASE | re.ASCII)


@cache
def _list_characters(left_out: str) -> str:
    """Return the class that holds what `[^{STOP}...]` does.

    `re` looks its characters up in a table. Of a negated class with characters beyond U+FFFF it compares each range,
    whatever its case, which takes ten times as long.
    """
    stop = re.compile(f"[{STOP}{left_out}]", re.ASCII)
    narrow = [code for code in range(256) if stop.match(chr(code))]
    places = zip([-1, *narrow], [*narrow, FIRST_WIDE_STOP], strict=True)
    ranges = (rf"\u{before + 1:04x}-\u{after - 1:04x}" for before, after in places if after - before > 1)
    return f"(?-i:[{''.join(ranges)}])"
