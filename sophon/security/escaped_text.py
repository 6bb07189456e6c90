"""Text with the escapes of JSON, of other literals and of URLs decoded, and the place of each of its characters."""

from bisect import bisect_left
from itertools import accumulate
from typing import NamedTuple, Self

from sophon.lazy_pattern import lazy_pattern

_ESCAPE = lazy_pattern(
    # More backslashes where a literal is within another one.
    r"\\{1,4}u[dD][89abAB][0-9A-Fa-f]{2}\\{1,4}u[dD][c-fC-F][0-9A-Fa-f]{2}"
    r"|\\{1,4}(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})"
    r"|%[0-7][0-9A-Fa-f]|%[cdCD][0-9A-Fa-f](?:%[89abAB][0-9A-Fa-f])"
    r"|%[eE][0-9A-Fa-f](?:%[89abAB][0-9A-Fa-f]){2}|%[fF][0-7](?:%[89abAB][0-9A-Fa-f]){3}"
)


class DecodedText(NamedTuple):
    """Each escape is one character of `text`; `escapes` are their places, and `shifts` how much longer the original
    is up to each.
    """

    text: str
    escapes: list[int]
    shifts: list[int]

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Return the decoded text; None for a text without escapes."""
        parts: list[str] = []
        escapes: list[int] = []
        lengths: list[int] = []
        end = place = 0
        for match in _ESCAPE.finditer(text) if "\\" in text or "%" in text else ():
            parts += (text[end : match.start()], _decode(match[0]))
            place += match.start() - end
            escapes.append(place)
            lengths.append(len(match[0]) - 1)
            place, end = place + 1, match.end()
        return cls("".join([*parts, text[end:]]), escapes, [0, *accumulate(lengths)]) if escapes else None

    def find_place(self, place: int) -> int:
        """Return the place in the original text of one in the decoded text."""
        return place + self.shifts[bisect_left(self.escapes, place)]


def _decode(escape: str) -> str:
    if escape[0] == "%":
        decoded = bytes.fromhex(escape.replace("%", "")).decode("utf-8", "replace")
        return decoded if len(decoded) == 1 else "\ufffd"
    codes = [int(each[1:], 16) for each in escape.split("\\") if each]
    return b"".join(each.to_bytes(2, "little") for each in codes).decode("utf-16-le", "surrogatepass")
