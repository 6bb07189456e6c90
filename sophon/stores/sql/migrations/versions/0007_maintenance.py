"""Table of the write probe; indexes by which retention finds what is old."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the table and the indexes."""
    op.create_table(
        "probes",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("runs_by_end", "runs", ["finished_at"])
    op.create_index("outbound_by_status", "outbound", ["status", "created_at"])


def downgrade() -> None:
    """Drop them."""
    op.drop_index("outbound_by_status", "outbound")
    op.drop_index("runs_by_end", "runs")
    op.drop_table("probes")
