"""One long text in several messages: markdown or plain, in parts that can each be read and rendered by themselves."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from sophon_channels.text.cuts import Span, best_cut, reach
from sophon_channels.text.fences import Fence, fences
from sophon_channels.text.units import utf16_units

SMALLEST_LIMIT = 16
"""In units; below it there is no room for a code block's own lines."""

_INLINE = re.compile(
    r"(?<!`)`[^`\n]{1,500}`(?!`)"
    r"|\*\*[^*\n]{1,500}\*\*|__[^_\n]{1,500}__|~~[^~\n]{1,500}~~"
    r"|(?<![*\w])\*[^*\s][^*\n]{0,500}\*(?![*\w])|(?<![_\w])_[^_\s][^_\n]{0,500}_(?![_\w])"
    r"|\[[^\[\]\n]{1,300}\]\([^()\s]{1,1000}\)"
    r"|[a-z]{2,8}://[^\s<>()]{1,1000}"
    r"|&#?\w{1,10};"
)
_LONGEST_INLINE = 1400


def split(text: str, limit: int, *, units: Callable[[str], int] = utf16_units) -> list[str]:
    """The text in parts of at most `limit` units each, none of them blank; a text that fits is its own only part.

    It is cut between paragraphs, else lines, sentences, words. A code block that is cut is closed and opened again, in
    the same language. A link, an address, emphasis, code within a line, a character reference and a visible character
    (emoji of several code points, a letter and its accent) stay whole, unless one alone is longer than half a part.
    All words are kept, in order. Raises ValueError for a limit below 16. Pure.
    """
    if limit < SMALLEST_LIMIT:
        raise ValueError(f"a part needs room for {SMALLEST_LIMIT} units at least; the limit is {limit}")
    if not text.strip():
        return []
    return [text] if units(text) <= limit else _parts(text.replace("\r\n", "\n"), limit, units)


def _parts(text: str, limit: int, units: Callable[[str], int]) -> list[str]:
    parts: list[str] = []
    blocks = fences(text)
    longest_tail = max((units(_tail(block, limit, units)) for block in blocks), default=0)
    position = 0
    while position < len(text):
        head = _head(_block_at(blocks, position), limit, units)
        if units(head + text[position : position + limit + 1]) <= limit:
            parts.append(head + text[position:])
            break
        end = reach(text, position, limit - units(head) - longest_tail, units)
        end = best_cut(text, position, end, _whole(text, position, end + _LONGEST_INLINE, blocks))
        block = _block_at(blocks, end)
        tail = _tail(block, limit, units)
        parts.append((head + text[position:end]).rstrip("\n" if block else "\n ") + tail)
        position = _next(text, end, block)
    return [part for part in parts if part.strip()]


def _whole(text: str, begin: int, stop: int, blocks: Sequence[Fence]) -> list[Span]:
    """What is not to be cut: what stands within a line outside code, and the lines that open and close a block."""
    spans: list[Span] = []
    for block in _near(blocks, begin, stop):
        spans += _inline(text, begin, min(block.start, stop))
        spans += [(block.start, block.body + 1), (block.body_end, block.end)]
        begin = block.end
    return spans + _inline(text, begin, stop)


def _near(blocks: Sequence[Fence], begin: int, stop: int) -> Sequence[Fence]:
    first = bisect_right(blocks, begin, key=lambda block: block.end)
    return blocks[first : bisect_left(blocks, stop, key=lambda block: block.start)]


def _inline(text: str, begin: int, end: int) -> list[Span]:
    return [found.span() for found in _INLINE.finditer(text, begin, end)] if begin < end else []


def _block_at(blocks: Sequence[Fence], position: int) -> Fence | None:
    """The block whose code, or whose closing line, a cut at `position` parts from its opening line."""
    after = bisect_right(blocks, position, key=lambda block: block.body)
    block = blocks[after - 1] if after else None
    return block if block and position < block.end and position <= block.body_end else None


def _head(block: Fence | None, limit: int, units: Callable[[str], int]) -> str:
    """The line that opens the block again; without its language, or not at all, where it would fill the part."""
    if block is None:
        return ""
    lines = (f"{block.marker}{block.info}\n", f"{block.marker}\n")
    return next((line for line in lines if units(line) * 4 <= limit), "")


def _tail(block: Fence | None, limit: int, units: Callable[[str], int]) -> str:
    line = f"\n{block.marker}" if block else ""
    return line if units(line) * 4 <= limit else ""


def _next(text: str, end: int, block: Fence | None) -> int:
    """Where the next part begins: after the white space of the cut; in code, after its one newline."""
    if block is not None and text[end : block.body_end].strip():
        return end + 1 if text.startswith("\n", end) else end
    if block is not None:  # nothing is left of it but its closing line, which the part before has already
        end = block.end
    while text.startswith("\n", end):
        end += 1
    return end + 1 if text.startswith(" ", end) and not text.startswith("  ", end) else end
