"""In-memory search: reads all messages of the owner; there is no index."""

from collections.abc import Callable, Iterable
from itertools import islice

from sophon.lazy_dataclass import dataclass
from sophon.messages import Message
from sophon.stores.message_search.contract import MAX_CANDIDATES, MessageHit, MessageHits
from sophon.stores.message_search.paging import Position, collect_page, decode_position
from sophon.stores.message_search.snippets import make_snippet
from sophon.stores.message_search.terms import find_matches, fold, parse_query


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """Message of a session, and its place in the order of time."""

    position: Position
    session_id: str
    title: str
    message: Message


class InMemoryMessageSearch:
    """The search of an `InMemoryStore`; see `MessageSearch`.

    `iterate_messages` yields the messages of an owner that are text: those of the newest session first, and in each the
    newest first.
    """

    def __init__(self, iterate_messages: Callable[[str], Iterable[StoredMessage]]) -> None:
        self._iterate_messages = iterate_messages

    async def search(
        self,
        owner: str,
        query: str,
        *,
        limit: int = 20,
        cursor: str | None = None,
        to_shown: Callable[[str], str] | None = None,
    ) -> MessageHits:
        """See `MessageSearch.search`."""
        terms, after = parse_query(query), None if cursor is None else decode_position(cursor)
        matching = (
            each
            for each in self._iterate_messages(owner)
            if terms and find_matches(fold(each.message.content), terms) is not None
        )
        candidates = {each.position: each for each in islice(matching, MAX_CANDIDATES)}

        def load(position: Position) -> MessageHit | None:
            found = candidates[position]
            text = found.message.content
            snippet = make_snippet(to_shown(text) if to_shown else text, terms)
            if snippet is None:
                return None
            return MessageHit(found.session_id, found.title, position.seq, found.message.role, position.at, snippet)

        return collect_page(candidates, after, max(limit, 0), load)

    async def index_missing(self, limit: int = 200) -> int:
        """Return 0: nothing is missing."""
        return 0

    async def purge(self) -> None:
        """Do nothing: what is deleted is gone."""
