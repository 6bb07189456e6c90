"""Text with some of its parts replaced by others, and the place of each of its characters in the original."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from html import unescape
from itertools import accumulate
from typing import NamedTuple

from sophon._python.lazy_pattern import lazy_pattern
from sophon.security.redaction.secret_form import AFTER_ESCAPE

_SPECIAL = lazy_pattern(
    # Every letter whose folded case is more than one, and in Turkish the `i` with and without a dot.
    "[\u00df\u0130\u0131\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9e\u1f50-\u1ffc\ufb00-\ufb17]|[iI]\u0307"
)

_PERCENT = "%(?:25){0,2}"
"""Also of a URL within a URL."""

_NEXT = f"{_PERCENT}[89abAB][0-9A-Fa-f]"

_ESCAPE = lazy_pattern(
    # More backslashes where a literal is within another one.
    r"\\{1,4}u[dD][89abAB][0-9A-Fa-f]{2}\\{1,4}u[dD][c-fC-F][0-9A-Fa-f]{2}"
    r"|\\{1,4}(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[nrtbfv])"
    rf"|{_PERCENT}(?:[0-7][0-9A-Fa-f]|[cdCD][0-9A-Fa-f]{_NEXT}|[eE][0-9A-Fa-f](?:{_NEXT}){{2}}"
    rf"|[fF][0-7](?:{_NEXT}){{3}})"
    # `&amp;#46;` is HTML within HTML.
    r"|&(?:amp;){0,2}(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z][A-Za-z0-9]{1,31};)"
)

_PLUS = lazy_pattern(rf"(?<=[\w)])(?!(?:{AFTER_ESCAPE})\+\d)\+{{1,2}}(?=[\w(])")
"""A space in a form and in the query of a URL, unless a phone number begins there."""

_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v"}


class RewrittenText(NamedTuple):
    """`starts` and `ends` are the places in `text` of what was replaced, in order, and `shifts` how much longer the
    original is up to each.
    """

    text: str
    starts: list[int]
    ends: list[int]
    shifts: list[int]

    def find_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the place in the original of a part; what begins or ends within a replaced part includes that."""
        first, last = bisect_right(self.ends, start), bisect_right(self.ends, end)
        if first < len(self.starts):
            start = min(start, self.starts[first])
        if last < len(self.starts) and self.starts[last] < end:
            end, last = self.ends[last], last + 1
        return start + self.shifts[first], end + self.shifts[last]


def rewrite(
    text: str,
    pattern: re.Pattern[str],
    replace: Callable[[str], str | None],
    change_other: Callable[[str], str] = str,
) -> RewrittenText:
    """Return the text with each match replaced; one for which `replace` returns None stays.

    `change_other` changes the rest, of which the length must stay the same.
    """
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    lengths: list[int] = []
    end = place = 0
    for match in pattern.finditer(text):
        new = replace(match[0])
        if new is None:
            continue
        parts += (change_other(text[end : match.start()]), new)
        place += match.start() - end
        starts.append(place)
        place, end = place + len(new), match.end()
        ends.append(place)
        lengths.append(len(match[0]) - len(new))
    return RewrittenText("".join([*parts, change_other(text[end:])]), starts, ends, [0, *accumulate(lengths)])


def fold(text: str) -> RewrittenText:
    """Return the text with its case folded."""
    if text.isascii():
        return RewrittenText(text.lower(), [], [], [0])
    return rewrite(text, _SPECIAL, _fold_special, str.casefold)


def _fold_special(letters: str) -> str:
    return "i" if letters in ("\u0130", "\u0131") or len(letters) > 1 else letters.casefold()


def decode(text: str) -> Iterator[RewrittenText]:
    """Yield what the text may stand for: with its escapes decoded, and as the text of a form; nothing without any."""
    decoded = _decode_escapes(text)
    if decoded.starts:
        yield decoded
    if "+" in text and (form := _PLUS.sub(lambda plus: " " * len(plus[0]), text)) != text:
        yield _decode_escapes(form)


def _decode_escapes(text: str) -> RewrittenText:
    if "\\" in text or "%" in text or "&" in text:
        return rewrite(text, _ESCAPE, _decode)
    return RewrittenText(text, [], [], [0])


def _decode(escape: str) -> str | None:
    if escape[0] == "&":
        decoded = unescape("&" + escape[1:].replace("amp;", ""))
        return decoded if len(decoded) == 1 else None
    if escape[0] == "%":
        codes = bytes.fromhex("".join(each[-2:] for each in escape.split("%")))
        decoded = codes.decode("utf-8", "replace")
        return decoded if len(decoded) == 1 else "\ufffd"
    letters = [each for each in escape.split("\\") if each]
    if len(letters[0]) == 1:
        return _LETTERS[letters[0]]
    units = (int(each[1:], 16).to_bytes(2, "little") for each in letters)
    return b"".join(units).decode("utf-16-le", "surrogatepass")
