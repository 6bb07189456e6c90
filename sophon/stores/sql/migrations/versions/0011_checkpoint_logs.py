"""Logs of checkpoints: messages of unfinished turns, each written once.

The whole states that earlier checkpoints are stay as they are, and are read.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the table."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "checkpoint_logs",
        sa.Column("run", number, sa.ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
        sa.Column("log", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("entry", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Drop the table. An unfinished turn whose checkpoint has logs then fails when it is resumed."""
    op.drop_table("checkpoint_logs")
