"""Table of the labels of the information flow."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Create the table; nothing is labelled."""
    op.create_table(
        "data_labels",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("label", sa.Integer, nullable=False),
        sa.Column("private", sa.Boolean, nullable=False),
        sa.Column("untrusted", sa.Boolean, nullable=False),
    )


def downgrade() -> None:
    """Drop the table, and with it the labels."""
    op.drop_table("data_labels")
