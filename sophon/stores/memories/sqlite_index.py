"""Full-text index of memory entries in SQLite: a virtual table of FTS5, which holds the words and not the texts.

It is created with the first entry, and rebuilt from the entries when it is missing or damaged: it holds nothing that
they do not. A library without FTS5 leaves it out, and then a search reads all entries of the scope.
"""

import logging
import sqlite3
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, OperationalError

from sophon.stores.memories.contract import INDEX_IS_MISSING
from sophon.stores.sql.fts5_damage import IndexDamaged, index_damage
from sophon.stores.sql.prepared_statement import PreparedStatement

log = logging.getLogger("sophon")

TABLE = "memory_words"

# The words are those of `index_words`, which the tokenizer `ascii` leaves as they are. `detail=none`: which entries
# have a word is all that is asked.
_CREATE = (
    f"CREATE VIRTUAL TABLE {TABLE} USING "
    "fts5(words, content='memories', content_rowid='number', tokenize='ascii', detail='none', columnsize=0)"
)
_EXISTS = text(f"SELECT 1 FROM sqlite_master WHERE name = '{TABLE}'")  # noqa: S608 - a constant
_ADD = text(f"INSERT INTO {TABLE}(rowid, words) VALUES (:number, :words)")  # noqa: S608
_REMOVE = text(f"INSERT INTO {TABLE}({TABLE}, rowid, words) VALUES ('delete', :number, :words)")  # noqa: S608
_COUNT = PreparedStatement(
    lambda _: text(f"SELECT count(*) FROM (SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH :words LIMIT :most)")  # noqa: S608
)
# With a rank of 1, the words of the entries are compared with the index, too.
_COMPARE = text(f"INSERT INTO {TABLE}({TABLE}, rank) VALUES ('integrity-check', 1)")  # noqa: S608


def add_words(connection: Connection, number: int, words: str) -> None:
    """Add an entry to the index, in the caller's transaction; create or rebuild the index if that is needed."""
    if not exists(connection):
        rebuild(connection)  # adds this entry too
        return
    try:
        connection.execute(_ADD, {"number": number, "words": words})
    except DBAPIError as error:
        repair(connection, error)


def remove_words(connection: Connection, rows: Sequence[tuple[int, str]]) -> None:
    """Remove entries (number and words) that have been deleted, so that their words are in no page of the index."""
    if not rows or not exists(connection):
        return
    try:
        connection.execute(_REMOVE, [{"number": number, "words": words} for number, words in rows])
        # Until segments are merged, a deleted word stays in the file.
        _command(connection, "optimize")
    except DBAPIError as error:
        repair(connection, error)


def replace_words(connection: Connection, number: int, words: str) -> None:
    """Remove an entry that will be added again with another number and perhaps the same words."""
    if exists(connection):
        try:
            connection.execute(_REMOVE, {"number": number, "words": words})
        except DBAPIError as error:
            repair(connection, error)


def count_words(connection: Connection, words: Sequence[str], most: int) -> int:
    """Return how many entries have all words, at most `most`. Raises IndexDamaged."""
    try:
        row = _COUNT.fetch_row(connection, {"words": to_expression(words), "most": most})
    except (DBAPIError, sqlite3.Error) as error:
        raise _damage(error) from error
    return 0 if row is None else int(row[0])


def read_matching(
    connection: Connection, statement: PreparedStatement, parameters: dict[str, Any]
) -> Sequence[Sequence[Any]]:
    """Return the rows of a query that uses the index. Raises IndexDamaged."""
    try:
        return list(statement.fetch_rows(connection, parameters))
    except (DBAPIError, sqlite3.Error) as error:
        raise _damage(error) from error


def to_expression(words: Sequence[str]) -> str:
    """Return FTS5's expression for all of the words; a word has letters, digits and low lines only."""
    return " ".join(f'"{word}"' for word in words)


def repair(connection: Connection, error: Exception) -> None:
    """Rebuild a damaged index, and say so in one line. Raises what is no damage of the index."""
    damage = error if isinstance(error, IndexDamaged) else _damage(error)
    log.warning("the search index of the memory is damaged and is rebuilt from its entries: %s", damage)
    rebuild(connection)


def rebuild(connection: Connection) -> None:
    """Create the index anew from all entries. Without FTS5 there is none."""
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS {TABLE}")
    try:
        connection.exec_driver_sql(_CREATE)
    except OperationalError as error:
        if "no such module" not in str(error.orig):
            raise
        return
    _command(connection, "rebuild")


def find_damage(connection: Connection) -> str:
    """Return what is wrong with the index, "" if nothing: it is compared with the entries. Needs the write lock."""
    if not exists(connection):
        return INDEX_IS_MISSING
    try:
        connection.execute(_COMPARE)
    except DBAPIError as error:
        return str(_damage(error))
    return ""


def has_fts5(connection: Connection) -> bool:
    """Return whether the SQLite library has FTS5."""
    return bool(connection.exec_driver_sql("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").first())


def exists(connection: Connection) -> bool:
    """Return whether there is an index: the first entry creates it."""
    return connection.execute(_EXISTS).first() is not None


def _command(connection: Connection, name: str) -> None:
    connection.exec_driver_sql(f"INSERT INTO {TABLE}({TABLE}) VALUES ('{name}')")  # noqa: S608 - constants


def _damage(error: Exception) -> IndexDamaged:
    return index_damage(error, TABLE)
