"""SQL search in messages: the index finds candidates, their texts decide."""

import base64
import binascii
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial, total_ordering
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, select, text

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import to_utc
from sophon.errors import InputError
from sophon.messages import Message
from sophon.stores.message_search import sqlite_table
from sophon.stores.message_search.sql_index import (
    has_missing,
    index_missing,
    is_complete,
    purge_index,
    replace_damaged,
)
from sophon.stores.message_search.terms import Term, owner_word, parse_query
from sophon.stores.sql.column_types import KEYS_PER_PARENT, SafeText, UtcTime, to_key, to_seq
from sophon.stores.sql.fts5_damage import IndexDamaged, index_damage
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import records, sessions
from sophon.stores.texts.sql import TextReader
from sophon_hosting.store.message_search.hits import MAX_CANDIDATES, MessageHit, MessageHits
from sophon_hosting.store.message_search.snippets import make_snippet

NO_FTS5: Final = "the SQLite library of this host has no FTS5, which the search in messages needs"

_SESSION: Final = f"JOIN sessions ON sessions.number = records.key / {KEYS_PER_PARENT}"

_CANDIDATES = {
    "sqlite": f"SELECT records.key, records.at FROM {sqlite_table.TABLE} "  # noqa: S608 - constants
    f"JOIN records ON records.key = {sqlite_table.TABLE}.rowid {_SESSION} "
    f"WHERE {sqlite_table.TABLE} MATCH :words AND sessions.owner = :owner "
    f"ORDER BY {sqlite_table.TABLE}.rowid DESC LIMIT :most",
    "postgresql": "SELECT records.key, records.at FROM message_words "  # noqa: S608 - constants
    f"JOIN records ON records.key = message_words.key {_SESSION} "
    "WHERE message_words.words @@ CAST(:words AS tsquery) AND sessions.owner = :owner "
    "ORDER BY message_words.key DESC LIMIT :most",
}

MAX_LOADED: Final = 200
"""Messages that are looked at for one page."""


class MessageSearch(Repository):
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
        hides is not found. Raises InputError for an invalid cursor. A damaged index is made anew; until it is complete,
        less is found.
        """
        terms, after = parse_query(query), None if cursor is None else decode_position(cursor)
        found = await self._database.read(
            partial(_search, owner=owner, terms=terms, limit=max(limit, 0), after=after, to_shown=to_shown)
        )
        if not isinstance(found, IndexDamaged):
            return found
        damage = found
        await self._database.write(lambda connection: replace_damaged(connection, damage))
        return MessageHits([], is_complete=False)

    async def index_missing(self, limit: int = 200) -> int:
        """Index at most `limit` messages that are not in the index yet; return how many were looked at, 0 at the end.

        A short transaction each, so that the messages of an old store are indexed while it is used. Nothing is written
        if nothing is missing, which is so almost always.
        """
        if not await self._database.read(has_missing):
            return 0
        return await self._database.write(partial(index_missing, limit=limit))

    async def purge(self) -> None:
        """Remove the words of deleted messages from the pages of the index, in short transactions."""
        await purge_index(self._database)


@total_ordering
@dataclass(frozen=True, slots=True)
class Position:
    """Place of a message in the order of time: when it was stored, the row number of its session, its seq."""

    at: datetime
    session: int
    seq: int

    def __lt__(self, other: "Position") -> bool:
        return (self.at, self.session, self.seq) < (other.at, other.session, other.seq)


def _search(
    connection: Connection,
    owner: str,
    terms: Sequence[Term],
    limit: int,
    after: Position | None,
    to_shown: Callable[[str], str] | None,
) -> MessageHits | IndexDamaged:
    complete = is_complete(connection)
    if connection.dialect.name == "sqlite" and not sqlite_table.exists(connection):
        if connection.execute(select(records.c.key).where(records.c.said).limit(1)).first() is None:
            return MessageHits([], is_complete=complete)
        if not sqlite_table.is_available(connection):
            raise InputError(NO_FTS5)
        return MessageHits([], is_complete=False)
    try:
        positions = _list_candidates(connection, owner, terms) if terms else []
    except sqlite_table.DRIVER_ERRORS as error:
        return index_damage(error, sqlite_table.TABLE)

    # Some damage goes unnoticed, and finds nothing.
    if terms and not positions and complete and not _knows_messages(connection, owner):
        return IndexDamaged("it knows none of the messages")

    def load(position: Position) -> MessageHit | None:
        return _load_hit(connection, position, terms, to_shown)

    return collect_page(positions, after, limit, load, is_complete=complete)


def _list_candidates(connection: Connection, owner: str, terms: Sequence[Term]) -> list[Position]:
    dialect = connection.dialect.name
    words = _to_expression(dialect, owner, terms)
    query = text(_CANDIDATES[dialect]).columns(key=BigInteger, at=UtcTime)
    safe_owner = SafeText().process_bind_param(owner, connection.dialect)
    rows = connection.execute(query, {"words": words, "owner": safe_owner, "most": MAX_CANDIDATES})
    return [Position(row.at, row.key // KEYS_PER_PARENT, to_seq(row.key)) for row in rows]


def _knows_messages(connection: Connection, owner: str) -> bool:
    """Return whether the index has a message of the owner, or there is none."""
    if connection.dialect.name != "sqlite":
        return True
    has_messages = select(sessions.c.number).where(sessions.c.owner == owner, sessions.c.said > 0).limit(1)
    if connection.execute(has_messages).first() is None:
        return True
    return sqlite_table.has_word(connection, owner_word(owner))


def _to_expression(dialect: str, owner: str, terms: Sequence[Term]) -> str:
    """Return the index's expression for all of the words, which have letters, digits and low lines only."""
    wanted = [(owner_word(owner), False)]
    wanted += [(word, term.is_prefix) for term in terms for word in term.list_indexed()]
    if dialect == "sqlite":
        return " AND ".join(f'"{word}"*' if is_prefix else f'"{word}"' for word, is_prefix in wanted)
    return " & ".join(f"'{word}':*" if is_prefix else f"'{word}'" for word, is_prefix in wanted)


def _load_hit(
    connection: Connection, position: Position, terms: Sequence[Term], to_shown: Callable[[str], str] | None
) -> MessageHit | None:
    query = (
        select(records.c.message, sessions.c.id, sessions.c.title, sessions.c.provisional_title)
        .join(sessions, sessions.c.number == position.session)
        .where(records.c.key == to_key(position.session, position.seq))
    )
    row: Any = connection.execute(query).one()
    message = Message.from_json(TextReader(connection, row.id).decode(row.message))
    snippet = make_snippet(to_shown(message.content) if to_shown else message.content, terms)
    if snippet is None:
        return None
    return MessageHit(row.id, row.title or row.provisional_title, position.seq, message.role, position.at, snippet)


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
