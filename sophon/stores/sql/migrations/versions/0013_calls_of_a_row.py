"""Number of the attempts that a row of usage stands for: a turn without a limit writes one for all its calls."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the column, 1 in existing rows."""
    op.add_column("attempts", sa.Column("calls", sa.BigInteger, nullable=False, server_default="1"))


def downgrade() -> None:
    """Drop the column; the sums of tokens and cost stay, and each row counts as one attempt again."""
    with op.batch_alter_table("attempts") as attempts:
        attempts.drop_column("calls")
