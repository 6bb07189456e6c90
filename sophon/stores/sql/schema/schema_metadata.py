"""What all tables share: their collection, the type of a row number, and what only PostgreSQL has."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, Connection, Integer, MetaData, Table, event, text

# SQLite generates row numbers only for a column that is declared INTEGER.
RowNumber = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()


# Indexes of words. SQLite's are virtual tables that are made with the first entry: `memories.sqlite_index` and
# `message_search.sqlite_table`.
_WORD_INDEXES = (
    "CREATE INDEX memories_by_words ON memories USING gin (array_to_tsvector(string_to_array(words, ' ')))",
    "CREATE TABLE message_words (key BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
    "CREATE INDEX message_words_by_word ON message_words USING gin (words)",
)


def _make_word_indexes(_: MetaData, connection: Connection, tables: Sequence[Table], **__: object) -> None:
    """Make them with the tables of a chain, and not with those that somebody adds to them later."""
    is_chain = any(table.name == "memories" for table in tables)
    for statement in _WORD_INDEXES if is_chain and connection.dialect.name == "postgresql" else ():
        connection.execute(text(statement))


event.listen(metadata, "after_create", _make_word_indexes)


def repeat_conditions() -> None:
    """Give partial indexes their conditions in PostgreSQL, too.

    Not where the tables are defined: there, an option of that dialect imports it into every process (25 ms).
    """
    for table in metadata.tables.values():
        for index in table.indexes:
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
