"""The fenced code blocks of a markdown text (CommonMark 0.31, section 4.5)."""

import re
from dataclasses import dataclass

_FENCE_LINE = re.compile(r"^ {0,3}(?P<marker>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fence:
    """One block, by positions in the text: `start` of its first line, `body` the code, `end` of its last line.

    The body ends before the newline of the closing line; `end` is the text's where nothing closes the block. `info` is
    what stands after the marker.
    """

    marker: str
    info: str
    start: int
    body: int
    body_end: int
    end: int


def fences(text: str) -> list[Fence]:
    """The blocks, in order."""
    found: list[Fence] = []
    position = 0
    while opening := _opening(text, position):
        body = min(opening.end() + 1, len(text))
        closing = _closing(text, body, opening["marker"])
        body_end = max(body, closing.start() - 1) if closing else len(text)
        end = closing.end() if closing else len(text)
        found.append(Fence(opening["marker"], opening["info"].strip(), opening.start(), body, body_end, end))
        position = end
    return found


def _opening(text: str, position: int) -> re.Match[str] | None:
    for line in _FENCE_LINE.finditer(text, position):
        if line["marker"][0] == "~" or "`" not in line["info"]:
            return line
    return None


def _closing(text: str, position: int, marker: str) -> re.Match[str] | None:
    for line in _FENCE_LINE.finditer(text, position):
        if line["marker"].startswith(marker) and not line["info"].strip():
            return line
    return None
