"""The task type whose account an open reservation is charged to."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add the column; open reservations of before are charged to no task type."""
    op.add_column("claims", sa.Column("task_type", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("claims", "task_type")
