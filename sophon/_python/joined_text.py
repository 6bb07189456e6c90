"""Joining of texts: of the replies before and after tool calls, and of the pieces of a streamed text."""

from collections.abc import Iterable

PARAGRAPH_BREAK = "\n\n"

MAX_SEPARATE_PIECES = 512
"""Pieces of a streamed text that are kept separately. Each costs about 60 bytes besides its text, so that a long answer
in pieces of four characters would take fifteen times its size.
"""

LARGE_PIECE_CHARACTERS = 64 * 1024
"""A piece of this size is not joined again, so that a long text is not copied once for every 512 of its pieces."""


def join_texts(texts: Iterable[str]) -> str:
    """Join the texts of a turn's replies, separated by `separator_after`; blank texts are omitted."""
    joined = ""
    for text in texts:
        if text.strip():
            joined += separator_after(joined) + text
    return joined


def separator_after(text: str) -> str:
    """Return a blank line; nothing after an empty text, or one that ends with white space of its own."""
    return PARAGRAPH_BREAK if text and not text[-1].isspace() else ""


def add_piece(pieces: list[str], piece: str) -> None:
    """Append a piece of a streamed text; beyond `MAX_SEPARATE_PIECES` the newest small ones become one."""
    pieces.append(piece)
    if len(pieces) <= MAX_SEPARATE_PIECES:
        return
    start = len(pieces)
    while start and len(pieces[start - 1]) < LARGE_PIECE_CHARACTERS:
        start -= 1
    if len(pieces) - start > 1:
        pieces[start:] = ["".join(pieces[start:])]
