"""Search for secrets by their form, at about the speed of RE2.

RE2 finds the anchors of all forms in one pass over the text, and `re` tries the patterns only there: the result is that
of a search for the alternation of all patterns (`secret_pattern`), which takes ten times as long.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from sophon.security.known_secrets import MARKER
from sophon.security.secret_patterns import ASSIGNED_ATTRIBUTES, SECRET_FORMS

if TYPE_CHECKING:
    from sophon.security.linear_patterns import LinearPattern


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
    anchors, patterns, heads = _anchors(), patterns_by_head(), _heads()
    skip = _assigned_attributes()
    is_ascii = len(data) == len(text)
    end = at = known_byte = known_place = 0
    while (span := anchors.find_span(data, at)) is not None:
        start, stop = span
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
        while (head := heads.search(text, place, last + 1)) is not None and head.start() < last:
            match = patterns[head[0]].match(text, head.start())
            if match is None:
                place = head.start() + 1
                continue
            yield match
            place = end = match.end()
        # Wherever a secret begins there is an anchor, so what lies within this one need not be searched.
        at = max(stop, end, start + 1) if is_ascii else max(stop, start + 1)


@cache
def secret_pattern() -> re.Pattern[str]:
    """Return the alternation of all forms; what `find_secrets` must find."""
    return _compile([form.pattern for form in SECRET_FORMS])


@cache
def _anchors() -> "LinearPattern":
    # Lazy: most processes of the command line never make an error.
    from sophon.security.linear_patterns import compile_linear

    return compile_linear("|".join(dict.fromkeys(form.anchor for form in SECRET_FORMS)), ignore_case=True)


@cache
def _assigned_attributes() -> "LinearPattern":
    from sophon.security.linear_patterns import compile_linear  # lazy: as above

    return compile_linear(ASSIGNED_ATTRIBUTES, ignore_case=True)


@cache
def _heads() -> re.Pattern[str]:
    """Return the pattern of the pairs of characters with which a secret can begin."""
    seconds: dict[str, set[str]] = {}
    for head in patterns_by_head():
        seconds.setdefault(head[0], set()).add(head[1])
    by_seconds: dict[str, str] = {}
    for first, each in sorted(seconds.items()):
        key = "".join(sorted(each))
        by_seconds[key] = by_seconds.get(key, "") + first
    return re.compile("|".join(f"[{re.escape(first)}][{re.escape(each)}]" for each, first in by_seconds.items()))


@cache
def patterns_by_head() -> dict[str, re.Pattern[str]]:
    """Return for each pair of characters with which a secret can begin the alternation of the forms that do."""
    by_head: dict[str, list[str]] = {}
    for form in SECRET_FORMS:
        for head in form.heads:
            by_head.setdefault(head, []).append(form.pattern)
    compiled = {alternation: _compile(list(alternation)) for alternation in {*map(tuple, by_head.values())}}
    return {
        first + second: compiled[tuple(patterns)]
        for head, patterns in by_head.items()
        for first in {head[0], head[0].upper()}
        for second in {head[1], head[1].upper()}
    }


def _compile(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE | re.ASCII)
