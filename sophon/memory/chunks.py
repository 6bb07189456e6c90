"""Chunks of a long text for an index: overlapping pieces that end with a line where possible, with their line numbers.

A chunk is as long as an embedding model reads (512 tokens, about 2,000 characters), and begins again with the end of
the one before it, so that a sentence is whole in one of them.
"""

from collections.abc import Iterator
from typing import Final

from sophon._python.lazy_dataclass import dataclass

CHUNK_CHARACTERS: Final = 1600
OVERLAP_CHARACTERS: Final = 200
MIN_SHARE: Final = 0.5
"""Share of a chunk behind which it is cut at a break: a chunk is never shorter than that, but for the last one."""

BREAKS: Final = ("\n\n", "\n", " ")
"""Where a chunk is cut, the best first: behind a paragraph, a line, a word; else anywhere."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Piece of a text: `text[start:end]`, which lies in its lines `first_line` to `last_line` (from 1, inclusive)."""

    text: str
    start: int
    end: int
    first_line: int
    last_line: int


def split_into_chunks(text: str, size: int = CHUNK_CHARACTERS, overlap: int = OVERLAP_CHARACTERS) -> Iterator[Chunk]:
    """Yield the chunks of a text in order, each of at most `size` characters; none for an empty text.

    Two neighbours share up to `overlap` characters, less if a line or a word begins within. Together they are the whole
    text. Linear in its length. Raises ValueError unless 0 <= overlap < size / 2.
    """
    if not 0 <= overlap < size * MIN_SHARE:
        raise ValueError(f"an overlap of {overlap} characters does not fit chunks of {size}: it must be less than half")
    start, line = 0, 1
    while start < len(text):
        end = _find_end(text, start, size)
        piece = text[start:end]
        yield Chunk(piece, start, end, line, line + piece.count("\n", 0, len(piece) - 1))
        if end == len(text):
            return
        following = _find_start(text, end, overlap)
        line += text.count("\n", start, following)
        start = following


def _find_end(text: str, start: int, size: int) -> int:
    """Return where a chunk ends: behind the last break in its second half."""
    most = start + size
    if most >= len(text):
        return len(text)
    least = start + int(size * MIN_SHARE)
    for each in BREAKS:
        found = text.rfind(each, least, most)
        if found >= 0:
            return found + len(each)
    return most


def _find_start(text: str, end: int, overlap: int) -> int:
    """Return where the next chunk starts: behind the first break within the overlap."""
    first = end - overlap
    for each in BREAKS[1:]:
        found = text.find(each, first, end - 1)
        if found >= 0:
            return found + len(each)
    return first
