"""Pages of the session list: cursors, and the search in titles and ids; rules that every store shares."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime

from sophon.clock import to_utc
from sophon.errors import InputError

_ESCAPED = frozenset("%_\\")
_FOLDED_TO_ASCII = frozenset("ik")
"""ASCII letters that are also the lower case of another character (dotted I, Kelvin sign)."""


def split_words(search: str) -> tuple[str, ...]:
    """Return the words of a search in lower case; a session matches if each is part of its title or id."""
    return tuple(search.lower().split())


def matches_words(words: Sequence[str], title: str, session_id: str) -> bool:
    """Return whether each word is part of the title or the id, whatever the case."""
    title, session_id = title.lower(), session_id.lower()
    return all(word in title or word in session_id for word in words)


def to_like_pattern(word: str) -> str:
    r"""Return a LIKE pattern (escape `\`) that at least every text matches whose lower case contains the word.

    Databases change the case of ASCII letters only, or by the rules of their locale. Every other letter that has a case
    is therefore a wildcard, and who uses the pattern checks what it finds with `matches_words`.
    """
    return f"%{''.join(_to_like_character(character) for character in word)}%"


def encode_cursor(updated_at: datetime, session_id: str) -> str:
    """Return the cursor of the page that follows a session."""
    text = f"{updated_at.isoformat()} {session_id}"
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def decode_cursor(cursor: str) -> tuple[datetime, str]:
    """Return the time of the last change and the id of the session that a page follows. Raises InputError."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode("utf-8", "surrogatepass")
        time, _, session_id = text.partition(" ")
        updated_at = to_utc(datetime.fromisoformat(time))
    except (binascii.Error, ValueError) as error:
        raise InputError("the cursor is invalid; use the one of the previous page, or none") from error
    return updated_at, session_id


def _to_like_character(character: str) -> str:
    if not character.isprintable() or character == "\u0307":
        return "%"  # stored in another form, or a part of the lower case of the dotted I
    if character in _FOLDED_TO_ASCII or (not character.isascii() and character.lower() != character.upper()):
        return "_"
    return f"\\{character}" if character in _ESCAPED else character
