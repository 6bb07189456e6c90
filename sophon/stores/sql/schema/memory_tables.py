"""Tables of memory entries and vectors."""

from sqlalchemy import Column, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata

memories = Table(
    "memories",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("scope", SafeText, nullable=False),
    Column("category", Text, nullable=False),
    Column("text", SafeText, nullable=False),
    Column("origin", SafeText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("sources", JsonText, nullable=True),
    Column("reach", Text, nullable=False, server_default="owner"),
    Column("agent", SafeText, nullable=False, server_default=""),
    Column("session_id", SafeText, nullable=False, server_default=""),
    # What the index finds. SQLite's is a virtual table: `sophon.stores.memories.sqlite_index`.
    Column("words", Text, nullable=False, server_default=""),
    Column("entities", JsonText, nullable=True),
    Column("relations", JsonText, nullable=True),
    Index("memories_by_scope", "scope"),
    Index("memories_by_session", "session_id"),
)

# `blob` holds `dimensions` little-endian float32 numbers.
vectors = Table(
    "vectors",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("namespace", Text, nullable=False),
    Column("key", SafeText, nullable=False),
    Column("embedder", SafeText, nullable=False),
    Column("dimensions", Integer, nullable=False),
    Column("blob", LargeBinary, nullable=False),
    Column("data", JsonText, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("session_id", SafeText, nullable=False),
    UniqueConstraint("namespace", "key", name="vector_keys_are_unique"),
    Index("vectors_by_session", "session_id"),
    Index("vectors_by_embedder", "namespace", "embedder", "number"),
)
