"""Word index of the memory entries in an SQL database: SQLite's FTS5 table, or PostgreSQL's text search."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, text

from sophon.memory.keyword_search import COUNT_LIMIT, FoundText, scope_word
from sophon.stores.memories import sqlite_index
from sophon.stores.memories.contract import MemoryReader
from sophon.stores.sql.column_types import SafeText
from sophon.stores.sql.prepared_statement import PreparedStatement

SERVER_WORDS = "array_to_tsvector(string_to_array(memories.words, ' '))"
"""What PostgreSQL's index is made of."""

_SEEN = """
    (CAST(:scope AS TEXT) IS NULL OR memories.scope = :scope)
    AND (:sees_all = 1 OR (memories.reach = 'owner' AND :only_session = 0)
         OR (memories.reach = 'agent' AND memories.agent = :agent AND :only_session = 0)
         OR (memories.reach = 'session' AND memories.session_id = :session_id))
"""
_SAFE = [bindparam(name, type_=SafeText()) for name in ("scope", "agent", "session_id")]
# SQLite reads the index in the order of its numbers, and stops at the limit.
_NEWEST = PreparedStatement(
    lambda dialect: text(
        f"SELECT memories.number, memories.words FROM {sqlite_index.TABLE} JOIN memories "  # noqa: S608 - constants
        f"ON memories.number = {sqlite_index.TABLE}.rowid WHERE {sqlite_index.TABLE} MATCH :words AND {_SEEN} "
        f"ORDER BY {sqlite_index.TABLE}.rowid DESC LIMIT :most"
        if dialect == "sqlite"
        else f"SELECT memories.number, memories.words FROM memories WHERE {SERVER_WORDS} @@ CAST(:words AS tsquery) "  # noqa: S608
        f"AND {_SEEN} ORDER BY memories.number DESC LIMIT :most"
    ).bindparams(*_SAFE)
)
_SERVER_COUNT = PreparedStatement(
    lambda _: text(
        "SELECT count(*) FROM "  # noqa: S608 - a constant
        f"(SELECT 1 FROM memories WHERE {SERVER_WORDS} @@ CAST(:words AS tsquery) LIMIT :most) AS found"
    )
)
_SOME = PreparedStatement(lambda _: text("SELECT count(*) FROM (SELECT number FROM memories LIMIT :most) AS found"))


class SqlWordIndex:
    """`WordIndex` of what a reader may see in a scope, or in all of them; see there. Raises IndexDamaged."""

    def __init__(self, connection: Connection, scope: str | None, reader: MemoryReader | None) -> None:
        self._connection, self._scope, self._reader = connection, scope, reader
        self._is_sqlite = connection.dialect.name == "sqlite"
        self._scope_words = [] if scope is None else [scope_word(scope)]
        self._counts: dict[str, int] = {}

    def exists(self) -> bool:
        """Return whether there is an index: SQLite's is created with the first entry."""
        return not self._is_sqlite or sqlite_index.exists(self._connection)

    def knows_entries(self) -> bool:
        """Return whether any entry of the scope is found; damage may go unnoticed and find nothing."""
        if not self._is_sqlite:
            return True
        return self.exists() and (not self._scope_words or self.count(self._scope_words[0], 1) > 0)

    def count_entries(self, limit: int) -> int:
        """See `WordIndex.count_entries`."""
        return _fetch_number(_SOME, self._connection, {"most": limit})

    def count(self, word: str, limit: int) -> int:
        """See `WordIndex.count`."""
        found = self._counts[word] = self._count(word, limit)
        return found

    def _count(self, word: str, limit: int) -> int:
        if self._is_sqlite:
            return sqlite_index.count_words(self._connection, [word], limit)
        return _fetch_number(_SERVER_COUNT, self._connection, {"words": _to_tsquery([word]), "most": limit})

    def list_newest(self, words: Sequence[str], limit: int) -> list[FoundText]:
        """See `WordIndex.list_newest`."""
        reader = self._reader or MemoryReader()
        # The list of a scope is long; where few entries have a word, it is faster to look at the scope of each.
        is_rare = any(self._counts.get(word, COUNT_LIMIT) < COUNT_LIMIT for word in words)
        wanted = [*words] if is_rare else [*words, *self._scope_words]
        parameters: dict[str, Any] = {
            "scope": self._scope,
            "sees_all": int(self._reader is None),
            "agent": reader.agent,
            "session_id": reader.session_id,
            "only_session": int(reader.only_session),
            "most": limit,
        }
        if self._is_sqlite:
            parameters["words"] = sqlite_index.to_expression(wanted)
            rows = sqlite_index.read_matching(self._connection, _NEWEST, parameters)
        else:
            rows = list(_NEWEST.fetch_rows(self._connection, {**parameters, "words": _to_tsquery(wanted)}))
        return [FoundText(number, stored.split()[1:]) for number, stored in rows]


def _fetch_number(statement: PreparedStatement, connection: Connection, values: dict[str, Any]) -> int:
    row = statement.fetch_row(connection, values)
    assert row is not None
    return int(row[0])


def _to_tsquery(words: Sequence[str]) -> str:
    """Return PostgreSQL's expression for all of the words; a word has letters, digits and low lines only."""
    return " & ".join(f"'{word}'" for word in words)
