"""Contract of the search in messages: what people and the agent said in the conversations of one owner."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.message_search.snippets import SnippetPart

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


class MessageSearch(Protocol):
    """Index of the messages that a person reads as text: those of user and assistant, no tool results.

    It changes in the transaction that stores, copies or deletes messages.
    """

    async def search(
        self,
        owner: str,
        query: str,
        *,
        limit: int = 20,
        cursor: str | None = None,
        to_shown: Callable[[str], str] | None = None,
    ) -> MessageHits:
        """Return the messages in the owner's sessions in which every term of the query matches; see `terms`.

        `to_shown` returns a text as its reader sees it (a pure function, which may run in another thread): what it
        hides is not found. Raises InputError for an invalid cursor.
        """
        ...

    async def index_missing(self, limit: int = 200) -> int:
        """Index at most `limit` messages that are not in the index yet; return how many were looked at, 0 at the end.

        A short transaction each, so that the messages of an old store are indexed while it is used.
        """
        ...

    async def purge(self) -> None:
        """Remove the words of deleted messages from the pages of the index, in short transactions."""
        ...
