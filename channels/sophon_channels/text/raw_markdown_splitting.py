"""Splitting of one long text, markdown or plain, into several messages that each render on their own."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.text.cut_points import TextSpan, find_best_cut, find_fitting_end
from sophon_channels.text.utf16 import utf16_length

MIN_LIMIT = 16
"""In units; a smaller part cannot hold the opening and closing line of a code block."""

_INLINE = re.compile(
    r"(?<!`)`[^`\n]{1,500}`(?!`)"
    r"|\*\*[^*\n]{1,500}\*\*|__[^_\n]{1,500}__|~~[^~\n]{1,500}~~"
    r"|(?<![*\w])\*[^*\s][^*\n]{0,500}\*(?![*\w])|(?<![_\w])_[^_\s][^_\n]{0,500}_(?![_\w])"
    r"|\[[^\[\]\n]{1,300}\]\([^()\s]{1,1000}\)"
    r"|[a-z]{2,8}://[^\s<>()]{1,1000}"
    r"|&#?\w{1,10};"
)

_LONGEST_INLINE = 1400

_FENCE_LINE = re.compile(r"^ {0,3}(?P<marker>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)


def split_text(text: str, limit: int, *, measure: Callable[[str], int] = utf16_length) -> list[str]:
    """Split a text into parts of at most `limit` units each, none of them blank; a text that fits is the only part.

    Cuts at the end of a paragraph, else of a line, sentence, word. A code block that is cut is closed and reopened, in
    the same language. A link, a URL, emphasis, inline code, a character reference and a visible character (emoji of
    several code points, a letter and its accent) are kept intact, unless one alone is longer than half a part. All
    words are kept, in order. `measure` measures a text, by default in UTF-16 units. Raises ValueError for a limit below
    16. Pure.
    """
    if limit < MIN_LIMIT:
        raise ValueError(f"the limit must be at least {MIN_LIMIT} units, but it is {limit}")
    if not text.strip():
        return []
    return [text] if measure(text) <= limit else _split_parts(text.replace("\r\n", "\n"), limit, measure)


def _split_parts(text: str, limit: int, units: Callable[[str], int]) -> list[str]:
    parts: list[str] = []
    blocks = find_code_fences(text)
    longest_tail = max((units(_closing_line(block, limit, units)) for block in blocks), default=0)
    position = 0
    while position < len(text):
        head = _reopening_line(_block_at(blocks, position), limit, units)
        if units(head + text[position : position + limit + 1]) <= limit:
            parts.append(head + text[position:])
            break
        end = find_fitting_end(text, position, limit - units(head) - longest_tail, units)
        end = find_best_cut(text, position, end, _atomic_spans(text, position, end + _LONGEST_INLINE, blocks))
        block = _block_at(blocks, end)
        tail = _closing_line(block, limit, units)
        parts.append((head + text[position:end]).rstrip("\n" if block else "\n ") + tail)
        position = _skip_white_space(text, end, block)
    return [part for part in parts if part.strip()]


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


def _atomic_spans(text: str, begin: int, stop: int, blocks: Sequence[CodeFence]) -> list[TextSpan]:
    """Return the spans not to cut: inline markup outside code, and the opening and closing lines of code blocks."""
    spans: list[TextSpan] = []
    for block in _blocks_between(blocks, begin, stop):
        spans += _inline_spans(text, begin, min(block.start, stop))
        spans += [(block.start, block.body_start + 1), (block.body_end, block.end)]
        begin = block.end
    return spans + _inline_spans(text, begin, stop)


def _blocks_between(blocks: Sequence[CodeFence], begin: int, stop: int) -> Sequence[CodeFence]:
    first = bisect_right(blocks, begin, key=lambda block: block.end)
    return blocks[first : bisect_left(blocks, stop, key=lambda block: block.start)]


def _inline_spans(text: str, begin: int, end: int) -> list[TextSpan]:
    return [match.span() for match in _INLINE.finditer(text, begin, end)] if begin < end else []


def _block_at(blocks: Sequence[CodeFence], position: int) -> CodeFence | None:
    """Return the block that a cut at `position` would divide: after its opening line, not after its closing line."""
    after = bisect_right(blocks, position, key=lambda block: block.body_start)
    block = blocks[after - 1] if after else None
    return block if block and position < block.end and position <= block.body_end else None


def _reopening_line(block: CodeFence | None, limit: int, units: Callable[[str], int]) -> str:
    """Return the line that reopens the block; without the language, or empty, if it would fill the part."""
    if block is None:
        return ""
    lines = (f"{block.marker}{block.info}\n", f"{block.marker}\n")
    return next((line for line in lines if units(line) * 4 <= limit), "")


def _closing_line(block: CodeFence | None, limit: int, units: Callable[[str], int]) -> str:
    line = f"\n{block.marker}" if block else ""
    return line if units(line) * 4 <= limit else ""


def _skip_white_space(text: str, end: int, block: CodeFence | None) -> int:
    """Return where the next part begins: after the white space of the cut; inside code, after one newline."""
    if block is not None and text[end : block.body_end].strip():
        return end + 1 if text.startswith("\n", end) else end
    if block is not None:  # only its closing line is left, and the previous part has that already
        end = block.end
    while text.startswith("\n", end):
        end += 1
    return end + 1 if text.startswith(" ", end) and not text.startswith("  ", end) else end


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
