"""Table of the API tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Create the table; nobody has a token."""
    times = ("expires_at", "last_used_at", "revoked_at")
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        *(sa.Column(name, sa.DateTime(timezone=True)) for name in times),
        sa.UniqueConstraint("digest", name="api_token_digests_are_unique"),
    )


def downgrade() -> None:
    """Drop the table, and with it every token."""
    op.drop_table("api_tokens")
