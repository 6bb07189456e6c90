"""Hits of the search in messages: what people and the agent said in the conversations of one owner."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.store.message_search.snippets import SnippetPart

MAX_CANDIDATES: Final = 2000
"""Messages with all terms that are put into order of time: those of the newest conversations."""


@dataclass(frozen=True, slots=True)
class MessageHit:
    """Message in which every term of a query matches. `seq` is that of its record."""

    session_id: str
    title: str
    seq: int
    role: str
    at: datetime
    snippet: Sequence[SnippetPart]


@dataclass(frozen=True, slots=True)
class MessageHits:
    """Page of hits, the newest first; `next_cursor` is None on the last page.

    `is_complete` is False while messages that were stored before there was an index are not in it yet.
    """

    items: Sequence[MessageHit]
    next_cursor: str | None = None
    is_complete: bool = True
