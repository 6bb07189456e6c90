"""Tables of spending of providers and payers, reservations, alerts and attempts."""

from sqlalchemy import BigInteger, Column, Index, Table, Text

from sophon.stores.sql.column_types import SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata

# One row per provider and day (amount in tokens) and per provider and month (in micro-USD), open reservations included:
# a reservation is compared with one row, however many attempts are stored. The accounts of a payer, `payer:NAME`, and
# of a task type, `task_type:NAME`, are in micro-USD in both rows.
spending = Table(
    "spending",
    metadata,
    Column("provider", SafeText, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("amount", BigInteger, nullable=False),
)

reservations = Table(
    "claims",
    metadata,
    Column("id", Text, primary_key=True),
    Column("provider", SafeText, nullable=False),
    Column("day", Text, nullable=False),
    Column("month", Text, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("micros", BigInteger, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("host", SafeText, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("process", Text, nullable=False),
    Column("payer", SafeText, nullable=False, server_default=""),
    Column("task_type", Text, nullable=False, server_default=""),
)

# A row per alert that was sent: one for each share of a limit and day or month.
budget_alerts = Table(
    "budget_alerts",
    metadata,
    Column("provider", SafeText, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("name", Text, primary_key=True),
)

attempts = Table(
    "attempts",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("day", Text, nullable=False),
    Column("month", Text, nullable=False),
    Column("provider", SafeText, nullable=False),
    Column("model", SafeText, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("run_id", SafeText, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cached_input_tokens", BigInteger, nullable=False),
    Column("cost_micros", BigInteger, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("unpriced_tokens", BigInteger, nullable=False, server_default="0"),
    Column("calls", BigInteger, nullable=False, server_default="1"),
    Index("attempts_by_day", "day"),
    Index("attempts_by_session", "session_id"),
)
