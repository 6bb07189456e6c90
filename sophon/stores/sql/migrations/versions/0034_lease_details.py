"""Details of leases: what a host process states of itself."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Add the column; the leases of running processes state nothing."""
    op.add_column("leases", sa.Column("details", sa.Text))


def downgrade() -> None:
    """Drop the column."""
    with op.batch_alter_table("leases") as table:
        table.drop_column("details")
