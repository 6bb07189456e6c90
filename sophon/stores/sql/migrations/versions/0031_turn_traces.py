"""Table of the traces of turns."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"

_ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "turn_traces",
        sa.Column("number", _ROW_NUMBER, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False, unique=True),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("day", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("working_ms", sa.BigInteger, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("cost_micros", sa.BigInteger, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("turn_traces_by_session", "turn_traces", ["session_id"])
    op.create_index("turn_traces_by_end", "turn_traces", ["ended_at"])


def downgrade() -> None:
    """Drop the table, and with it all traces."""
    op.drop_table("turn_traces")
