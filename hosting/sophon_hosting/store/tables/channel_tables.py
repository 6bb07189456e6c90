"""Tables of outbound messages and the state of channels."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Table, Text, UniqueConstraint, false, text

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata

# `open` is derived from the status (neither sent nor dead); it is indexed because every delivery loop selects by it.
IS_DEAD_LETTER = text("status = 'dead'")
"""Condition of the dead letters' index; as a literal, because no database uses a partial index for a parameter."""

outbound = Table(
    "outbound",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("run_id", SafeText, ForeignKey("runs.id", ondelete="CASCADE")),
    Column("channel", SafeText, nullable=False),
    Column("account", SafeText, nullable=False),
    Column("chat", SafeText, nullable=False),
    Column("kind", SafeText, nullable=False),
    Column("payload", JsonText, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("not_before", UtcTime),
    Column("status", Text, nullable=False),
    Column("open", Boolean, nullable=False),
    Column("attempts", BigInteger, nullable=False),
    Column("doubtful", Boolean, nullable=False),
    Column("last_error", SafeText, nullable=False),
    Column("platform_id", SafeText),
    Column("created_at", UtcTime, nullable=False),
    Column("interruptions", BigInteger, nullable=False, server_default="0"),
    Column("refusals", BigInteger, nullable=False, server_default="0"),
    Column("retried_at", UtcTime),
    Column("recipient", SafeText, nullable=False, server_default=""),
    Column("dead_reason", Text, nullable=False, server_default=""),
    Column("delivered", Boolean, nullable=False, server_default=false()),
    Index("outbound_by_run", "run_id"),
    Index("outbound_by_platform_id", "platform_id"),
    Index("outbound_by_status", "status", "created_at"),
    Index("outbound_open", "channel", "open", "account", "chat", "number"),
    Index("outbound_dead", "number", sqlite_where=IS_DEAD_LETTER),
    sqlite_autoincrement=True,
)

channel_state = Table(
    "notes",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("channel", SafeText, nullable=False),
    Column("account", SafeText, nullable=False),
    Column("kind", SafeText, nullable=False),
    Column("key", SafeText, nullable=False),
    Column("value", JsonText, nullable=False),
    Column("at", UtcTime, nullable=False),
    UniqueConstraint("channel", "account", "kind", "key", name="notes_are_unique"),
    Index("notes_by_kind", "kind", "at"),
)
