"""Table of the traces of tasks; those that earlier versions have stored as events stay events."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Create the table."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "traces",
        sa.Column("number", number, primary_key=True),
        sa.Column("log", number, sa.ForeignKey("event_logs.number", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("task_id", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Index("traces_by_log", "log", "number"),
    )


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("traces")
