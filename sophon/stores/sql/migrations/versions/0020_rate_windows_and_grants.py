"""The uses of quotas are rate-limited events: one table for both. Standing grants know the group they were given in."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Move the uses, oldest first, and drop their table. A quota's name is the scope of its events.

    Of a grant that was given before, nothing says where: it counts outside of groups only.
    """
    op.add_column("grants", sa.Column("chat", sa.Text, nullable=False, server_default=""))
    op.execute("INSERT INTO rate_events (scope, at) SELECT quota, at FROM quota_uses ORDER BY at, number")
    op.drop_table("quota_uses")


def downgrade() -> None:
    """Create the table again, and move the uses of Shield's quotas back."""
    op.create_table(
        "quota_uses",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("quota", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Index("quota_uses_by_quota", "quota", "at"),
        sa.Index("quota_uses_by_time", "at"),
    )
    op.execute(
        "INSERT INTO quota_uses (quota, at) "
        "SELECT scope, at FROM rate_events WHERE scope LIKE 'shield.%' ORDER BY number"
    )
    # Without its group a grant would count everywhere.
    op.execute("DELETE FROM grants WHERE chat <> ''")
    with op.batch_alter_table("grants") as grants:
        grants.drop_column("chat")
    op.execute("DELETE FROM rate_events WHERE scope LIKE 'shield.%'")
