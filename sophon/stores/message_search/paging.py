"""Pages of hits, newest first, and their cursors; shared by all stores."""

import base64
import binascii
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import total_ordering
from typing import Final

from sophon.errors import InputError
from sophon.lazy_dataclass import dataclass
from sophon.stores.message_search.contract import MessageHit, MessageHits
from sophon.stores.utc_time import to_utc

MAX_LOADED: Final = 200
"""Messages that are looked at for one page."""


@total_ordering
@dataclass(frozen=True, slots=True)
class Position:
    """Place of a message in the order of time: when it was stored, the row number of its session, its seq."""

    at: datetime
    session: int
    seq: int

    def __lt__(self, other: "Position") -> bool:
        return (self.at, self.session, self.seq) < (other.at, other.session, other.seq)


def collect_page(
    positions: Iterable[Position],
    after: Position | None,
    limit: int,
    load: Callable[[Position], MessageHit | None],
    *,
    is_complete: bool = True,
) -> MessageHits:
    """Return a page of the hits at some positions, in order of time, that follow one.

    `load` returns None for a message that does not match as its reader sees it. A page ends, too, after many of these.
    """
    following = sorted((each for each in positions if after is None or each < after), reverse=True)
    items: list[MessageHit] = []
    for index, position in enumerate(following):
        if len(items) >= limit or index >= MAX_LOADED:
            # The next page begins after the last message that was looked at.
            last = following[index - 1] if index else None
            return MessageHits(items, encode_position(last) if last is not None else None, is_complete)
        hit = load(position)
        if hit is not None:
            items.append(hit)
    return MessageHits(items, None, is_complete)


def encode_position(position: Position) -> str:
    """Return the cursor of the page that follows a hit."""
    text = f"{position.at.astimezone(UTC).isoformat()} {position.session} {position.seq}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_position(cursor: str) -> Position:
    """Return the hit that a page follows. Raises InputError."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        at, session, seq = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii").split(" ")
        return Position(to_utc(datetime.fromisoformat(at)), int(session), int(seq))
    except (binascii.Error, ValueError) as error:
        raise InputError("the cursor is invalid; use the one of the previous page, or none") from error
