"""Tables of a host: runs, the inbound messages that started them, the outbox, the events of each session."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    _create_run_tables()
    _create_outbox_table()
    _create_event_tables()


def downgrade() -> None:
    """Drop the tables and their rows."""
    for table in ("events", "event_logs", "outbound", "inbound", "runs"):
        op.drop_table(table)


def _create_run_tables() -> None:
    op.create_table(
        "runs",
        sa.Column("number", _NUMBER, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("started_at", _TIME),
        sa.Column("finished_at", _TIME),
        sa.Column("starts", sa.BigInteger, nullable=False),
        sa.Column("checkpoint", sa.Text),
        sa.Column("waiting_for", sa.Text, nullable=False),
        sa.Column("response", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("cancel_requested", sa.Boolean, nullable=False),
        sa.Index("runs_by_session", "session_id", "number"),
        sa.Index("runs_by_owner", "owner", "number"),
        sa.Index("runs_by_status", "status", "number"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "inbound",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("external_id", sa.Text, primary_key=True),
        sa.Column("run", _NUMBER, sa.ForeignKey("runs.number", ondelete="CASCADE"), nullable=False),
        sa.Index("inbound_by_run", "run"),
    )


def _create_outbox_table() -> None:
    op.create_table(
        "outbound",
        sa.Column("number", _NUMBER, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id", ondelete="CASCADE")),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("chat", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("not_before", _TIME),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("open", sa.Boolean, nullable=False),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("doubtful", sa.Boolean, nullable=False),
        sa.Column("last_error", sa.Text, nullable=False),
        sa.Column("platform_id", sa.Text),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Index("outbound_by_run", "run_id"),
        sa.Index("outbound_open", "channel", "open", "account", "chat", "number"),
        sqlite_autoincrement=True,
    )


def _create_event_tables() -> None:
    op.create_table(
        "event_logs",
        sa.Column("number", _NUMBER, primary_key=True),
        sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False, unique=True),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("log", _NUMBER, sa.ForeignKey("event_logs.number", ondelete="CASCADE"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("task_id", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Index("events_by_time", "at"),
    )
