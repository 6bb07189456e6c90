"""The ledger of sub-agents."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "sub_agents",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("task_id", sa.Text, nullable=False),
        sa.Column("parent_id", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("cancel_requested", sa.Boolean, nullable=False),
    )
    op.create_index("sub_agents_by_task", "sub_agents", ["task_id"])
    op.create_index("sub_agents_by_session", "sub_agents", ["session_id"])
    op.create_index("sub_agents_by_principal", "sub_agents", ["principal", "state"])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("sub_agents")
