"""Leases, and an index of the unfinished runs by session."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"

_IS_UNFINISHED = sa.text("finished_at IS NULL")
_ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the table, in which nobody holds a lease, and the index."""
    op.create_table(
        "leases",
        sa.Column("number", _ROW_NUMBER, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("schema_version", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "runs_unfinished_of_session",
        "runs",
        ["session_id", "number"],
        sqlite_where=_IS_UNFINISHED,
        postgresql_where=_IS_UNFINISHED,
    )


def downgrade() -> None:
    """Drop both: hosts of the earlier version hold no lease, and start runs in the order of their queue."""
    op.drop_index("runs_unfinished_of_session", "runs")
    op.drop_table("leases")
