"""Tables of the snapshots of files and of the ends of their chains."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Create the tables; the chains are empty."""
    texts = ("session_id", "run_id", "call_id", "tool", "files", "previous_hash", "hash")
    op.create_table(
        "snapshots",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in texts),
    )
    op.create_table(
        "snapshot_chains",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("last_number", sa.BigInteger, nullable=False),
        sa.Column("last_hash", sa.Text, nullable=False),
        sa.Column("anchor_number", sa.BigInteger, nullable=False),
        sa.Column("anchor_hash", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Drop the tables; the copies stay in their folder."""
    op.drop_table("snapshot_chains")
    op.drop_table("snapshots")
