"""Large texts of a session, each stored once under the hash of its content.

A message, an event, a run's outcome and a checkpoint that hold the same large text refer to one stored copy.
"""

from hashlib import sha256

LARGE_TEXT_BYTES = 32 * 1024
"""Size in UTF-8 from which a text is large: it is stored apart, and events contain only its beginning."""

HEAD_CHARACTERS = 4096
"""Length of the beginning of a large text, where only that is read."""


def text_id(text: str) -> str:
    """Return the id of a text: its SHA-256 in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_large(text: str) -> bool:
    """Return whether a text has at least `LARGE_TEXT_BYTES`; short ones are not encoded to find out."""
    if len(text) >= LARGE_TEXT_BYTES:
        return True
    return len(text) * 4 >= LARGE_TEXT_BYTES and len(text.encode("utf-8", "surrogatepass")) >= LARGE_TEXT_BYTES
