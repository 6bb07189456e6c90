"""Table of large texts, which are stored once per session; what was stored before stays where it is."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the table."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    session = sa.Column("session", number, sa.ForeignKey("sessions.number", ondelete="CASCADE"), primary_key=True)
    op.create_table(
        "texts",
        session,
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("text", sa.Text),
        sa.Column("parts", sa.Text),
    )


def downgrade() -> None:
    """Drop the table. Large texts are lost: the rows that refer to them cannot be read by an earlier version."""
    op.drop_table("texts")
