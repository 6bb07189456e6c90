"""Table of channel state: admitted people, the session of each chat, inbound messages already processed."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "notes",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("channel", "account", "kind", "key", name="notes_are_unique"),
        sa.Index("notes_by_kind", "kind", "at"),
    )


def downgrade() -> None:
    """Drop the table and its rows."""
    op.drop_table("notes")
