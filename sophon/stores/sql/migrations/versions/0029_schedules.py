"""Table of the schedules."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"

_TEXTS = ("id", "owner", "session_id", "channel", "text", "kind", "expression", "time_zone")
_LATER_TEXTS = ("created_by", "origin", "title", "misfire", "quiet_hours", "quiet_action", "state", "reason")


def upgrade() -> None:
    """Create the table."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "schedules",
        sa.Column("number", number, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False, unique=name == "id" or None) for name in _TEXTS),
        sa.Column("created_at", moment, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in _LATER_TEXTS),
        sa.Column("due_at", moment),
        sa.Column("wake_at", moment),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("last_due_at", moment),
        sa.Column("last_outcome", sa.Text),
        sa.Column("last_reason", sa.Text, nullable=False),
        sa.Column("last_task_id", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Index("schedules_by_wake", "wake_at", "number"),
        sa.Index("schedules_by_owner", "owner"),
        sa.Index("schedules_by_session", "session_id"),
    )


def downgrade() -> None:
    """Drop the table, and with it the schedules."""
    op.drop_table("schedules")
