"""Tables of the standing grants and of the uses of quotas."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Create the tables."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    texts = ("scope", "principal", "session_id", "tool", "risk", "pattern", "description", "granted_by")
    op.create_table(
        "grants",
        sa.Column("number", number, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in texts),
        sa.Column("granted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.Index("grants_by_principal", "principal", "tool"),
        sa.Index("grants_by_session", "session_id"),
        sa.Index("grants_by_expiry", "expires_at"),
    )
    op.create_table(
        "quota_uses",
        sa.Column("number", number, primary_key=True),
        sa.Column("quota", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Index("quota_uses_by_quota", "quota", "at"),
        sa.Index("quota_uses_by_time", "at"),
    )


def downgrade() -> None:
    """Drop the tables, and with them the grants and the counted uses."""
    op.drop_table("quota_uses")
    op.drop_table("grants")
