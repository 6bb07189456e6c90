"""Joining of the texts that a model wrote before and after its tool calls."""

from collections.abc import Iterable

PARAGRAPH_BREAK = "\n\n"


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
