"""Fenced code blocks of a markdown text (CommonMark 0.31, section 4.5)."""

import re

from sophon.lazy_dataclass import dataclass

_FENCE_LINE = re.compile(r"^ {0,3}(?P<marker>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CodeFence:
    """A fenced code block, as positions in the text: `start` of the opening line, `body_start` where the code begins,
    `body_end` before the newline of the closing line, `end` of the closing line. An unclosed block ends with the text.
    `info` is the info string behind the marker.
    """

    marker: str
    info: str
    start: int
    body_start: int
    body_end: int
    end: int


def find_code_fences(text: str) -> list[CodeFence]:
    """Return the code blocks, in order. Pure."""
    blocks: list[CodeFence] = []
    position = 0
    while opening := _find_opening_line(text, position):
        body = min(opening.end() + 1, len(text))
        closing = _find_closing_line(text, body, opening["marker"])
        body_end = max(body, closing.start() - 1) if closing else len(text)
        end = closing.end() if closing else len(text)
        blocks.append(CodeFence(opening["marker"], opening["info"].strip(), opening.start(), body, body_end, end))
        position = end
    return blocks


def _find_opening_line(text: str, position: int) -> re.Match[str] | None:
    for line in _FENCE_LINE.finditer(text, position):
        if line["marker"][0] == "~" or "`" not in line["info"]:
            return line
    return None


def _find_closing_line(text: str, position: int, marker: str) -> re.Match[str] | None:
    for line in _FENCE_LINE.finditer(text, position):
        if line["marker"].startswith(marker) and not line["info"].strip():
            return line
    return None
