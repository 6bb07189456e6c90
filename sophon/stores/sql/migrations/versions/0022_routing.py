"""Table of the moving averages of routing, and the payer of a reservation."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Create the table; nothing was observed, and nobody pays for the open reservations."""
    op.create_table(
        "route_averages",
        sa.Column("model", sa.Text, primary_key=True),
        sa.Column("tier", sa.Text, primary_key=True),
        sa.Column("task_type", sa.Text, primary_key=True),
        sa.Column("calls", sa.BigInteger, nullable=False),
        sa.Column("failures", sa.BigInteger, nullable=False),
        sa.Column("scored", sa.BigInteger, nullable=False),
        sa.Column("cost_micros", sa.Double),
        sa.Column("latency_ms", sa.Double),
        sa.Column("quality", sa.Double),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.add_column("claims", sa.Column("payer", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    """Drop the column and the table."""
    op.drop_column("claims", "payer")
    op.drop_table("route_averages")
