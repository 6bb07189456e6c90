"""Column of the untrusted texts that a memory entry may come from; NULL, unknown, for entries written before."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column."""
    op.add_column("memories", sa.Column("sources", sa.Text, nullable=True))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("memories", "sources")
