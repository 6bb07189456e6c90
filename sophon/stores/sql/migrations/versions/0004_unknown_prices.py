"""Tokens of unknown price in each attempt; table of the budget alerts that were sent."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column, 0 in existing rows, and the table."""
    op.add_column("attempts", sa.Column("unpriced_tokens", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "budget_alerts",
        sa.Column("provider", sa.Text, primary_key=True),
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
    )


def downgrade() -> None:
    """Drop both with what is in them."""
    op.drop_table("budget_alerts")
    with op.batch_alter_table("attempts") as attempts:
        attempts.drop_column("unpriced_tokens")
