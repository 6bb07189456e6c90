"""The text store's contract: the large texts of a session, each stored once under the hash of its content.

A message, an event, a run's outcome and a checkpoint that hold the same large text refer to one stored copy.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol

LARGE_TEXT_BYTES = 32 * 1024
"""Size in UTF-8 from which a text is large: it is stored apart, and events contain only its beginning."""

HEAD_CHARACTERS = 4096
"""Length of the beginning of a large text, where only that is read."""


class TextStore(Protocol):
    """Repository of large texts, by session and text id. Texts are deleted with their session."""

    async def get(self, session_id: str, text_id: str) -> str | None:
        """Return a text; None if the session has no such text, or does not exist."""
        ...

    async def add(self, session_id: str, texts: Mapping[str, str]) -> None:
        """Add texts by id; known ones stay. Raises NotFound for an unknown session.

        A text that nothing else of the session refers to is dropped when the session's events are trimmed.
        """
        ...


def text_id(text: str) -> str:
    """Return the id of a text: its SHA-256 in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_large(text: str) -> bool:
    """Return whether a text has at least `LARGE_TEXT_BYTES`; short ones are not encoded to find out."""
    if len(text) >= LARGE_TEXT_BYTES:
        return True
    return len(text) * 4 >= LARGE_TEXT_BYTES and len(text.encode("utf-8", "surrogatepass")) >= LARGE_TEXT_BYTES
