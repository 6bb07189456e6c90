"""Table of schedules."""

from sqlalchemy import BigInteger, Column, Index, Table, Text

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata

# `wake_at` is null unless the schedule is active, so that the index has only what the scheduler looks for.
schedules = Table(
    "schedules",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("owner", SafeText, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("channel", SafeText, nullable=False),
    Column("text", SafeText, nullable=False),
    Column("kind", Text, nullable=False),
    Column("expression", SafeText, nullable=False),
    Column("time_zone", SafeText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("created_by", SafeText, nullable=False),
    Column("origin", JsonText, nullable=False),
    Column("title", SafeText, nullable=False),
    Column("misfire", Text, nullable=False),
    Column("quiet_hours", SafeText, nullable=False),
    Column("quiet_action", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", SafeText, nullable=False),
    Column("due_at", UtcTime),
    Column("wake_at", UtcTime),
    Column("attempts", BigInteger, nullable=False),
    Column("last_due_at", UtcTime),
    Column("last_outcome", Text),
    Column("last_reason", SafeText, nullable=False),
    Column("last_task_id", SafeText, nullable=False),
    Column("version", BigInteger, nullable=False),
    Index("schedules_by_wake", "wake_at", "number"),
    Index("schedules_by_owner", "owner"),
    Index("schedules_by_session", "session_id"),
)
