"""FTS5 table of SQLite's index of messages: creation, rows, and the merge that removes deleted words from its pages.

It has no content of its own, so a row is deleted with the words that were added. It is created with the first message:
what makes a schema on opening knows ordinary tables only.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, OperationalError

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.sql.prepared_statement import PreparedStatement

TABLE: Final = "message_words"

DRIVER_ERRORS: Final = (DBAPIError, sqlite3.Error)
"""What statements raise: prepared ones raise the driver's own errors."""

MERGED_PAGES: Final = 64
"""Pages that one step of a merge writes: a few milliseconds."""

# The words are those of `terms`, which the tokenizer `ascii` leaves as they are. `detail=none`: which messages have a
# word is all that is asked. Prefixes of two letters have their own entries, because many words begin with them.
_CREATE: Final = (
    f"CREATE VIRTUAL TABLE {TABLE} USING fts5(words, content='', tokenize='ascii', detail='none', prefix='2')"
)
_EXISTS = PreparedStatement(lambda _: text(f"SELECT 1 FROM sqlite_master WHERE name = '{TABLE}'"))  # noqa: S608
ADD = PreparedStatement(lambda _: text(f"INSERT INTO {TABLE}(rowid, words) VALUES (:key, :words)"))  # noqa: S608
_HAS_WORD = PreparedStatement(lambda _: text(f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH :word LIMIT 1"))  # noqa: S608
REMOVE = PreparedStatement(
    lambda _: text(f"INSERT INTO {TABLE}({TABLE}, rowid, words) VALUES ('delete', :key, :words)")  # noqa: S608
)
_KEYS = PreparedStatement(
    lambda _: text(f"SELECT id FROM {TABLE}_docsize WHERE id >= :first AND id < :last")  # noqa: S608
)


@dataclass(frozen=True, slots=True)
class MessageWords:
    """Row of the index: the key of a record, and the words of its message."""

    key: int
    words: Sequence[str]


def write_words(connection: Connection, statement: PreparedStatement, rows: Iterable[MessageWords]) -> None:
    """Execute `ADD` or `REMOVE` for each row, with its effect or, after an error, without.

    A message is removed with the words that it was added with.

    FTS5 writes at the end of a savepoint, or else at the commit, when an error would undo the caller's whole
    transaction. The outer savepoint is there to go back to, because the inner one is gone by then.
    """
    cursor = connection.connection.cursor()
    try:
        cursor.execute("SAVEPOINT before_words")
        try:
            cursor.execute("SAVEPOINT words")
            statement.execute_many(connection, [{"key": each.key, "words": " ".join(each.words)} for each in rows])
            cursor.execute("RELEASE words")
        except DRIVER_ERRORS:
            cursor.execute("ROLLBACK TO before_words")
            raise
        finally:
            cursor.execute("RELEASE before_words")
    finally:
        cursor.close()


def list_keys(connection: Connection, first: int, end: int) -> list[int]:
    """Return the keys of the messages in the index from `first` on, without `end`."""
    return [row[0] for row in _KEYS.fetch_rows(connection, {"first": first, "last": end})]


def has_word(connection: Connection, word: str) -> bool:
    """Return whether any message has a word."""
    return _HAS_WORD.fetch_row(connection, {"word": f'"{word}"'}) is not None


def exists(connection: Connection) -> bool:
    """Return whether there is an index."""
    return _EXISTS.fetch_row(connection, {}) is not None


def is_available(connection: Connection) -> bool:
    """Return whether the SQLite library has FTS5."""
    return bool(connection.exec_driver_sql("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").first())


def create(connection: Connection) -> bool:
    """Create an empty index in place of the one there is; return False if the SQLite library has no FTS5."""
    _drop(connection)
    try:
        connection.exec_driver_sql(_CREATE)
    except OperationalError as error:
        if "no such module" not in str(error.orig):
            raise
        return False
    return True


def start_merge(connection: Connection) -> bool:
    """Begin to merge all parts of the index into one, without what was deleted; return whether there is more to do."""
    return _merge(connection, -MERGED_PAGES)


def continue_merge(connection: Connection) -> bool:
    """Do the next step of a merge; return whether there is more to do."""
    return _merge(connection, MERGED_PAGES)


def _drop(connection: Connection) -> None:
    drop = f"DROP TABLE IF EXISTS {TABLE}"
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(drop)
    except DBAPIError:
        # It opens what it drops, and refuses if that is damaged: be an empty one.
        connection.exec_driver_sql(f"CREATE TABLE IF NOT EXISTS {TABLE}_data(id INTEGER PRIMARY KEY, block BLOB)")
        connection.exec_driver_sql(f"CREATE TABLE IF NOT EXISTS {TABLE}_config(k PRIMARY KEY, v) WITHOUT ROWID")
        connection.exec_driver_sql(f"INSERT OR REPLACE INTO {TABLE}_config VALUES ('version', 4)")  # noqa: S608
        connection.exec_driver_sql(
            f"INSERT OR REPLACE INTO {TABLE}_data VALUES (10, x'00000000000000')"  # noqa: S608
        )
        connection.exec_driver_sql(drop)


def _merge(connection: Connection, pages: int) -> bool:
    before = connection.exec_driver_sql("SELECT total_changes()").scalar_one()
    connection.exec_driver_sql(f"INSERT INTO {TABLE}({TABLE}, rank) VALUES ('merge', {pages})")  # noqa: S608
    return int(connection.exec_driver_sql("SELECT total_changes()").scalar_one() - before) >= 2
