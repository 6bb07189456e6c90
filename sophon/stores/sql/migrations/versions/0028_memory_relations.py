"""The relations between the entities of a memory entry."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Add the column; entries of before have none."""
    op.add_column("memories", sa.Column("relations", sa.Text, nullable=True))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("memories", "relations")
