"""Text with some of its parts replaced by others, and the place of each of its characters in the original."""

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple


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
