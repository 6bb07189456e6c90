"""Index of the words of messages in SQL, written in the transaction that stores, copies or deletes the messages.

The index holds words and no texts: an FTS5 table without content in SQLite, a `tsvector` with a GIN index in
PostgreSQL. Its row numbers are the keys of the records. The table `message_index` says how far the messages that are
older than the index have been indexed (no row: all of them), and whether words of deleted messages may be in its pages.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import BigInteger, Connection, Row, and_, func, literal, not_, select, text

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import Message
from sophon.stores.message_search import sqlite_table
from sophon.stores.message_search.sqlite_table import MessageWords
from sophon.stores.message_search.terms import index_words, owner_word
from sophon.stores.sql.column_types import KEYS_PER_PARENT, belongs_to
from sophon.stores.sql.database import Database
from sophon.stores.sql.fts5_damage import IndexDamaged, index_damage
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.schema import message_index, records, sessions
from sophon.stores.texts.sql import TextReader

log = logging.getLogger("sophon")

INDEXED_UP_TO = "indexed_up_to"
HAS_DELETED = "has_deleted"
"""Rows of `message_index`."""

PURGE_STEPS = 16
"""Steps of `purge_index` right after a deletion, a few milliseconds each; the rest is left to the next purge."""

_ADD = PreparedStatement(
    lambda _: text("INSERT INTO message_words(key, words) VALUES (:key, array_to_tsvector(CAST(:words AS text[])))")
)
_SET_STATE = text(
    "INSERT INTO message_index(name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = :value"
)
_CLEAR_STATE = text("DELETE FROM message_index WHERE name = :name")

_IS_COPY = and_(
    func.coalesce(sessions.c.family, sessions.c.id) != sessions.c.id,
    records.c.key
    <= sessions.c.number * literal(KEYS_PER_PARENT, BigInteger()) + func.coalesce(sessions.c.forked_at, 0),
)
"""Condition of what `count_copies` counts."""


@dataclass(frozen=True, slots=True)
class IndexedText:
    """Text of a message to be indexed; `key` is that of its record."""

    key: int
    text: str


def add_messages(connection: Connection, owner: str, messages: Sequence[IndexedText]) -> bool:
    """Add messages of an owner's session, in the caller's transaction; return whether the rest of the index was kept.

    A damaged index is made anew.
    """
    if not messages:
        return True
    belonging = owner_word(owner)
    rows = [MessageWords(each.key, [belonging, *index_words(each.text)]) for each in messages]
    if connection.dialect.name != "sqlite":
        _ADD.execute_many(connection, [{"key": each.key, "words": each.words} for each in rows])
        return True
    try:
        sqlite_table.write_words(connection, sqlite_table.ADD, rows)
    except sqlite_table.DRIVER_ERRORS as error:
        if replace_damaged(connection, error):
            sqlite_table.write_words(connection, sqlite_table.ADD, rows)
        return False
    return True


def remove_messages(connection: Connection, session: int, session_id: str, owner: str) -> None:
    """Remove the messages of a session, whose records are still there, in the caller's transaction."""
    if connection.dialect.name != "sqlite":
        within = {"first": session * KEYS_PER_PARENT, "last": (session + 1) * KEYS_PER_PARENT}
        connection.execute(text("DELETE FROM message_words WHERE key >= :first AND key < :last"), within)
        return
    try:
        if not sqlite_table.exists(connection):
            return
        present = set(sqlite_table.list_keys(connection, session * KEYS_PER_PARENT, (session + 1) * KEYS_PER_PARENT))
        if not present:
            return
        belonging = owner_word(owner)
        stored = (each for each in read_messages(connection, session, session_id) if each.key in present)
        words = (MessageWords(each.key, [belonging, *index_words(each.text)]) for each in stored)
        sqlite_table.write_words(connection, sqlite_table.REMOVE, words)
        set_state(connection, HAS_DELETED, 1)
    except sqlite_table.DRIVER_ERRORS as error:
        replace_damaged(connection, error)


def copy_messages(connection: Connection, source: int, source_id: str, owner: str, target: int, up_to: int) -> None:
    """Index the messages that are copied from one session to another; both are row numbers."""
    distance = (target - source) * KEYS_PER_PARENT
    copied = (
        IndexedText(each.key + distance, each.text)
        for each in read_messages(connection, source, source_id, up_to=up_to)
    )
    add_messages(connection, owner, [*copied])


def count_copies(session: Row[Any]) -> int:
    """Return the seq up to which a session's records are copies of another branch, under which they are indexed."""
    is_branch = session.family is not None and session.family != session.id
    return int(session.forked_at or 0) if is_branch else 0


def read_messages(
    connection: Connection, session: int, session_id: str, after: int = 0, up_to: int = KEYS_PER_PARENT - 1
) -> Iterator[IndexedText]:
    """Yield the messages of a session after a seq, up to another one."""
    query = select(records.c.key, records.c.message).where(
        belongs_to(records.c.key, session, after, up_to), records.c.said
    )
    texts = TextReader(connection, session_id)
    for key, stored in connection.execute(query):
        yield IndexedText(key, Message.from_json(texts.decode(stored)).content)


def has_missing(connection: Connection) -> bool:
    """Return whether `index_missing` has anything to do; it only reads."""
    if connection.dialect.name == "sqlite" and not sqlite_table.exists(connection):
        if not sqlite_table.is_available(connection):
            return False
        if _has_messages(connection):
            return True
    return not is_complete(connection)


def index_missing(connection: Connection, limit: int) -> int:
    """Index messages that were stored before there was an index; return how many were looked at, 0 at the end."""
    if connection.dialect.name == "sqlite" and not sqlite_table.exists(connection) and not _create(connection):
        return 0
    query = select(message_index.c.value).where(message_index.c.name == INDEXED_UP_TO)
    after = connection.execute(query).scalar_one_or_none()
    if after is None:
        return 0
    found = connection.execute(
        select(records.c.key, records.c.message, sessions.c.id, sessions.c.owner)
        .join(sessions, sessions.c.number == records.c.key // literal(KEYS_PER_PARENT, BigInteger()))
        .where(records.c.key > after, records.c.said, not_(_IS_COPY))
        .order_by(records.c.key)
        .limit(limit)
    ).all()
    if not found:
        connection.execute(_CLEAR_STATE, {"name": INDEXED_UP_TO})
        return 0
    present = _list_present(connection, found[0].key, found[-1].key)
    missing: dict[str, list[IndexedText]] = {}
    for row in found:
        if row.key not in present:
            stored = TextReader(connection, row.id).decode(row.message)
            missing.setdefault(row.owner, []).append(IndexedText(row.key, Message.from_json(stored).content))
    # The messages of an owner at once: each write makes a part of SQLite's index, which is merged with others later.
    if not all(add_messages(connection, owner, messages) for owner, messages in missing.items()):
        return len(found)  # from the first message on again
    set_state(connection, INDEXED_UP_TO, found[-1].key)
    return len(found)


def is_complete(connection: Connection) -> bool:
    """Return whether every message is in the index."""
    query = select(message_index.c.name).where(message_index.c.name == INDEXED_UP_TO)
    return connection.execute(query).first() is None


async def purge_index(database: Database, steps: int | None = None) -> None:
    """Remove the words of deleted messages from the pages of SQLite's index, at most so many steps of it.

    PostgreSQL's server does so itself.
    """
    if database.file is None or not await database.read(_has_deleted):
        return
    is_first = True
    while steps is None or steps > 0:
        if not await database.write(sqlite_table.start_merge if is_first else sqlite_table.continue_merge):
            await database.write(lambda connection: connection.execute(_CLEAR_STATE, {"name": HAS_DELETED}))
            return
        is_first, steps = False, None if steps is None else steps - 1


def replace_damaged(connection: Connection, error: Exception) -> bool:
    """Create the index if it is missing, anew if it is damaged; return False if the SQLite library has no FTS5.

    The messages that are stored are indexed from the first one on again. Raises what is no damage of the index.
    """
    damage = error if isinstance(error, IndexDamaged) else index_damage(error, sqlite_table.TABLE)
    if sqlite_table.exists(connection):
        log.warning("the search index of the messages is damaged and is made anew from them: %s", damage)
    return _create(connection)


def set_state(connection: Connection, name: str, value: int) -> None:
    """Set a row of `message_index`."""
    connection.execute(_SET_STATE, {"name": name, "value": value})


def _create(connection: Connection) -> bool:
    """Create SQLite's index, in place of the one there is; return False if the library has no FTS5."""
    if not sqlite_table.create(connection):
        return False
    if _has_messages(connection):
        set_state(connection, INDEXED_UP_TO, 0)
    return True


def _has_messages(connection: Connection) -> bool:
    return connection.execute(select(records.c.key).where(records.c.said).limit(1)).first() is not None


def _list_present(connection: Connection, first: int, last: int) -> set[int]:
    if connection.dialect.name == "sqlite":
        return set(sqlite_table.list_keys(connection, first, last + 1))
    query = text("SELECT key FROM message_words WHERE key >= :first AND key <= :last")
    return set(connection.execute(query, {"first": first, "last": last}).scalars())


def _has_deleted(connection: Connection) -> bool:
    query = select(message_index.c.name).where(message_index.c.name == HAS_DELETED)
    return connection.execute(query).first() is not None and sqlite_table.exists(connection)
