"""Tables of the audit log and of the ends of its chain."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Create the tables; the chain is empty."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    texts = ("event", "session_id", "run_id", "call_id", "chat", "principal", "tool", "capability", "risk")
    op.create_table(
        "audit",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in (*texts, "guard", "rule", "outcome")),
        sa.Column("duration_ms", sa.BigInteger, nullable=False),
        sa.Column("digests", sa.Text, nullable=False),
        sa.Column("texts", sa.Text),
        sa.Column("salts", sa.Text),
        sa.Column("previous_hash", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Index("audit_by_session", "session_id", "number"),
        sa.Index("audit_by_principal", "principal", "number"),
    )
    op.create_table(
        "audit_chain",
        sa.Column("number", number, primary_key=True),
        sa.Column("last_number", sa.BigInteger, nullable=False),
        sa.Column("last_hash", sa.Text, nullable=False),
        sa.Column("anchor_number", sa.BigInteger, nullable=False),
        sa.Column("anchor_hash", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Drop the tables, and with them the log."""
    op.drop_table("audit_chain")
    op.drop_table("audit")
