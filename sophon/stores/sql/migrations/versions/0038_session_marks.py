"""Provisional titles of sessions, and marks: pinned, archived."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    """Add the columns; sessions without a title get a provisional one with their next message."""
    op.add_column("sessions", sa.Column("provisional_title", sa.Text, nullable=False, server_default=""))
    for name in ("pinned", "archived"):
        op.add_column("sessions", sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """Drop the columns."""
    with op.batch_alter_table("sessions") as table:
        for name in ("archived", "pinned", "provisional_title"):
            table.drop_column(name)
