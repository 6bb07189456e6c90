"""Branches of conversations, and the planning mode of a session."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """Add the columns and their indexes; what was copied before is not known as a copy."""
    op.add_column("sessions", sa.Column("planning", sa.Text))
    op.add_column("sessions", sa.Column("forked_from", sa.Text))
    op.add_column("sessions", sa.Column("forked_at", sa.BigInteger))
    op.add_column("sessions", sa.Column("family", sa.Text))
    for name, column in (("sessions_by_family", "family"), ("sessions_by_source", "forked_from")):
        is_set = sa.text(f"{column} IS NOT NULL")
        op.create_index(name, "sessions", [column], sqlite_where=is_set, postgresql_where=is_set)


def downgrade() -> None:
    """Drop the columns: each branch is a conversation of its own then."""
    op.drop_index("sessions_by_source", "sessions")
    op.drop_index("sessions_by_family", "sessions")
    with op.batch_alter_table("sessions") as table:
        for name in ("family", "forked_at", "forked_from", "planning"):
            table.drop_column(name)
