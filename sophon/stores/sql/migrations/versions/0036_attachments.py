"""Attachments: files of messages, and the sessions that use them."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """Create the tables; there are no files yet."""
    row_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "attachments",
        sa.Column("number", row_number, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("media_type", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_index("attachments_by_owner", "attachments", ["owner"])
    op.create_index("attachments_by_time", "attachments", ["created_at"])
    op.create_table(
        "attachment_uses",
        sa.Column("session", row_number, sa.ForeignKey("sessions.number", ondelete="CASCADE"), primary_key=True),
        sa.Column("attachment", row_number, sa.ForeignKey("attachments.number", ondelete="CASCADE"), primary_key=True),
    )
    op.create_index("attachment_uses_by_attachment", "attachment_uses", ["attachment"])


def downgrade() -> None:
    """Drop the tables, and with them the files; messages go on naming them."""
    op.drop_table("attachment_uses")
    op.drop_table("attachments")
