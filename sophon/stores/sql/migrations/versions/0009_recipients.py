"""Recipient, reason and confirmation of outbound entries, and an index of the platform's message ids.

The recipient of an earlier entry is the owner of its run; one without a run has none.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add columns and index."""
    op.add_column("outbound", sa.Column("recipient", sa.Text, nullable=False, server_default=""))
    op.add_column("outbound", sa.Column("dead_reason", sa.Text, nullable=False, server_default=""))
    op.add_column("outbound", sa.Column("delivered", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_index("outbound_by_platform_id", "outbound", ["platform_id"])


def downgrade() -> None:
    """Drop columns and index."""
    op.drop_index("outbound_by_platform_id", "outbound")
    with op.batch_alter_table("outbound") as outbound:
        outbound.drop_column("delivered")
        outbound.drop_column("dead_reason")
        outbound.drop_column("recipient")
