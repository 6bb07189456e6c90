"""Tables of what routing and learning know of models and turns."""

from sqlalchemy import BigInteger, Column, Double, Index, Table, Text

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata

# How a model did, as exponential moving averages; NULL before the first observation.
route_averages = Table(
    "route_averages",
    metadata,
    Column("model", SafeText, primary_key=True),
    Column("tier", SafeText, primary_key=True),
    Column("task_type", Text, primary_key=True),
    Column("calls", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Column("scored", BigInteger, nullable=False),
    Column("cost_micros", Double),
    Column("latency_ms", Double),
    Column("quality", Double),
    Column("updated_at", UtcTime, nullable=False),
    Column("rated", BigInteger, nullable=False, server_default="0"),
    Column("said", Double),
)

# What finished turns were asked and how well they answered, NULL if nobody has judged it; `data` holds what no query
# asks for.
trajectories = Table(
    "trajectories",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("run_id", SafeText, nullable=False, unique=True),
    Column("session_id", SafeText, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("task_type", SafeText, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("quality", Double),
    Column("feedback", Double),
    Column("data", JsonText, nullable=False),
    Index("trajectories_by_session", "session_id"),
    Index("trajectories_by_quality", "quality", "number"),
)

# What one person said about the answer of one run.
feedback = Table(
    "feedback",
    metadata,
    Column("run_id", SafeText, primary_key=True),
    Column("principal", SafeText, primary_key=True),
    Column("session_id", SafeText, nullable=False),
    Column("value", Double, nullable=False),
    Column("text", SafeText, nullable=False),
    Column("source", SafeText, nullable=False),
    Column("at", UtcTime, nullable=False),
    Index("feedback_by_session", "session_id"),
    Index("feedback_by_time", "at"),
)
