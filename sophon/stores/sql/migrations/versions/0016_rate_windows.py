"""Table of the times of rate-limited events."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Create the table; nothing has been counted yet."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "rate_events",
        sa.Column("number", number, primary_key=True),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Index("rate_events_by_scope", "scope", "number"),
        sa.Index("rate_events_by_time", "at"),
    )


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("rate_events")
