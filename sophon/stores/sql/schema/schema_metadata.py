"""What all tables share: their collection, the type of a row number, and what only PostgreSQL has."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import DDL, BigInteger, Integer, MetaData, Table, event

# SQLite generates row numbers only for a column that is declared INTEGER.
RowNumber = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()


def _makes_memories(*_: object, tables: Sequence[Table] = (), **__: Any) -> bool:
    """Return whether the tables of a chain are made, and not those that somebody adds to them later."""
    return any(table.name == "memories" for table in tables)


# Indexes of words. SQLite's are virtual tables that are made with the first entry: `memories.sqlite_index` and
# `message_search.sqlite_table`.
for _statement in (
    "CREATE INDEX memories_by_words ON memories USING gin (array_to_tsvector(string_to_array(words, ' ')))",
    "CREATE TABLE message_words (key BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
    "CREATE INDEX message_words_by_word ON message_words USING gin (words)",
):
    _ddl = DDL(_statement).execute_if(dialect="postgresql", callable_=_makes_memories)  # type: ignore[no-untyped-call]
    event.listen(metadata, "after_create", _ddl)


def repeat_conditions() -> None:
    """Give partial indexes their conditions in PostgreSQL, too.

    Not where the tables are defined: there, an option of that dialect imports it into every process (25 ms).
    """
    for table in metadata.tables.values():
        for index in table.indexes:
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
