"""First schema: sessions and their records, usage accounting, approvals, tool-call journal, memory entries."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    _create_session_tables()
    _create_usage_tables()
    _create_approval_journal_and_memory_tables()


def downgrade() -> None:
    """Drop the tables and their rows."""
    for table in ("memories", "journal", "approvals", "attempts", "claims", "spending", "records", "sessions"):
        op.drop_table(table)


def _create_session_tables() -> None:
    op.create_table(
        "sessions",
        sa.Column("number", _NUMBER, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("model", sa.Text),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("said", sa.BigInteger, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("updated_at", _TIME, nullable=False),
    )
    op.create_table(
        "records",
        sa.Column("session", _NUMBER, sa.ForeignKey("sessions.number", ondelete="CASCADE"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("message", sa.Text),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("said", sa.Boolean, nullable=False),
        sa.Column("at", _TIME, nullable=False),
    )


def _create_usage_tables() -> None:
    op.create_table(
        "spending",
        sa.Column("provider", sa.Text, primary_key=True),
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("amount", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "claims",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("day", sa.Text, nullable=False),
        sa.Column("month", sa.Text, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("micros", sa.BigInteger, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.BigInteger, nullable=False),
        sa.Column("process", sa.Text, nullable=False),
    )
    op.create_table(
        "attempts",
        sa.Column("number", _NUMBER, primary_key=True),
        sa.Column("day", sa.Text, nullable=False),
        sa.Column("month", sa.Text, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("purpose", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("input_tokens", sa.BigInteger, nullable=False),
        sa.Column("output_tokens", sa.BigInteger, nullable=False),
        sa.Column("cached_input_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost_micros", sa.BigInteger, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Index("attempts_by_day", "day"),
        sa.Index("attempts_by_session", "session_id"),
    )


def _create_approval_journal_and_memory_tables() -> None:
    op.create_table(
        "approvals",
        sa.Column("number", _NUMBER, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("asked_at", _TIME, nullable=False),
        sa.Column("decision", sa.Text),
        sa.Column("decided_at", _TIME),
        sa.Index("approvals_by_session", "session_id"),
    )
    op.create_table(
        "journal",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("call_id", sa.Text, primary_key=True),
        sa.Column("turn", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("result", sa.Text),
        sa.Index("journal_by_turn", "turn"),
    )
    op.create_table(
        "memories",
        sa.Column("number", _NUMBER, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("category", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Index("memories_by_scope", "scope"),
    )
