"""Preferences of people."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Create the table; nobody has said anything."""
    op.create_table(
        "preferences",
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Drop the table, and with it what people have said."""
    op.drop_table("preferences")
