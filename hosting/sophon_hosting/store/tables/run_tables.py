"""Tables of runs with their checkpoints, the messages they were accepted for, and approvals."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Table, Text, false, text

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata

IS_OPEN = text("decision IS NULL")
"""Condition of the open approvals' index: the open ones are few among those that were ever decided."""

approvals = Table(
    "approvals",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("session_id", SafeText, nullable=False),
    Column("request", JsonText, nullable=False),
    Column("asked_at", UtcTime, nullable=False),
    Column("decision", JsonText),
    Column("decided_at", UtcTime),
    Index("approvals_by_session", "session_id"),
    Index("approvals_open", "asked_at", "number", sqlite_where=IS_OPEN),
)

IS_SIGNALLED = text("signalled")
"""Condition of the signalled runs' index; as a literal, because no database uses a partial index for a parameter."""

IS_UNFINISHED = text("finished_at IS NULL")
"""Condition of the unfinished runs' index."""

IS_UNSUCCESSFUL = text("status IN ('failed', 'cancelled')")
"""Condition of the index of the runs that ended without success: a turn that succeeds changes no page for it."""

# AUTOINCREMENT, so that a run's order is never reused. A run has no outcome while `finished_at` is NULL. `signalled`
# runs are few, so the host asks for them often: see `RunStore.list_pending`.
runs = Table(
    "runs",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("session_id", SafeText, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("owner", SafeText, nullable=False),
    Column("channel", SafeText, nullable=False),
    Column("origin", JsonText, nullable=False),
    Column("text", SafeText, nullable=False),
    Column("options", JsonText, nullable=False),
    Column("status", Text, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("started_at", UtcTime),
    Column("finished_at", UtcTime),
    Column("starts", BigInteger, nullable=False),
    Column("checkpoint", JsonText),
    Column("waiting_for", JsonText, nullable=False),
    Column("response", JsonText),
    Column("error", JsonText),
    Column("cancel_requested", Boolean, nullable=False),
    Column("signalled", Boolean, nullable=False, server_default=false()),
    Index("runs_by_session", "session_id", "number"),
    Index("runs_by_owner", "owner", "number"),
    Index("runs_unfinished", "status", "number", sqlite_where=IS_UNFINISHED),
    Index("runs_unfinished_of_session", "session_id", "number", sqlite_where=IS_UNFINISHED),
    Index("runs_unsuccessful", "status", "number", sqlite_where=IS_UNSUCCESSFUL),
    Index("runs_signalled", "number", sqlite_where=IS_SIGNALLED),
    sqlite_autoincrement=True,
)

# What the checkpoints of an unfinished run refer to: see `LogWrite`. Without a row id, so that a row is written once.
checkpoint_logs = Table(
    "checkpoint_logs",
    metadata,
    Column("run", RowNumber, ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    Column("log", BigInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("entry", JsonText, nullable=False),
    sqlite_with_rowid=False,
)

inbound = Table(
    "inbound",
    metadata,
    Column("channel", SafeText, primary_key=True),
    Column("account", SafeText, primary_key=True),
    Column("external_id", SafeText, primary_key=True),
    Column("run", RowNumber, ForeignKey("runs.number", ondelete="CASCADE"), nullable=False),
    Index("inbound_by_run", "run"),
)
