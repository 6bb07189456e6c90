"""Table of the goals."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"

_ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "goals",
        sa.Column("number", _ROW_NUMBER, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("work_session_id", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("goals_by_owner", "goals", ["owner", "state"])
    op.create_index("goals_by_state", "goals", ["state", "priority"])
    op.create_index("goals_by_session", "goals", ["session_id"])
    op.create_index("goals_by_work_session", "goals", ["work_session_id"])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("goals")
