"""Tables of the events of sessions and of the traces that are emitted with them."""

from sqlalchemy import BigInteger, Column, ForeignKey, Table

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata

# `last_seq` is at least the seq of the last event that was dropped, so that numbering continues after all of them were.
# It changes when events are dropped: what an append changes for it would be one more page of every transaction.
event_logs = Table(
    "event_logs",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("session_id", SafeText, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False, unique=True),
    Column("last_seq", BigInteger, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("key", RowNumber, primary_key=True, autoincrement=False),
    Column("name", SafeText, nullable=False),
    Column("task_id", SafeText, nullable=False),
    Column("data", JsonText, nullable=False),
    Column("at", UtcTime, nullable=False),
)

# Apart from the events, because traces have no seq; those in their keys say in which order they were stored.
traces = Table(
    "traces",
    metadata,
    Column("key", RowNumber, primary_key=True, autoincrement=False),
    Column("name", SafeText, nullable=False),
    Column("task_id", SafeText, nullable=False),
    Column("data", JsonText, nullable=False),
    Column("at", UtcTime, nullable=False),
)
