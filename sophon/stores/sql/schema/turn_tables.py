"""Tables of what turns do: tool calls, sub-agents, traces."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, Text

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata

# `turn` is the first part of the run id: it selects a turn with its plan steps.
journal = Table(
    "journal",
    metadata,
    Column("turn", SafeText, primary_key=True),
    Column("run_id", SafeText, primary_key=True),
    Column("call_id", SafeText, primary_key=True),
    Column("tool", SafeText, nullable=False),
    Column("result", JsonText),
)

# The sub-agents of turns.
sub_agents = Table(
    "sub_agents",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("task_id", SafeText, nullable=False),
    Column("parent_id", SafeText, nullable=False),
    Column("agent", SafeText, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("task", SafeText, nullable=False),
    Column("state", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("finished_at", UtcTime),
    Column("detail", SafeText, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Index("sub_agents_by_task", "task_id"),
    Index("sub_agents_by_session", "session_id"),
    Index("sub_agents_by_principal", "principal", "state"),
)

# How turns went; `data` is the whole trace, the columns are what reports and queries ask for.
turn_traces = Table(
    "turn_traces",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("run_id", SafeText, nullable=False, unique=True),
    Column("session_id", SafeText, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("ended_at", UtcTime, nullable=False),
    Column("day", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("working_ms", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cost_micros", BigInteger, nullable=False),
    Column("data", JsonText, nullable=False),
    Index("turn_traces_by_session", "session_id"),
    Index("turn_traces_by_end", "ended_at"),
)
