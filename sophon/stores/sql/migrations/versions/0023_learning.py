"""Tables of what is learnt from finished turns: trajectories, feedback of people, vectors."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

_ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "trajectories",
        sa.Column("number", _ROW_NUMBER, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False, unique=True),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("task_type", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("quality", sa.Double, nullable=False),
        sa.Column("feedback", sa.Double),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("trajectories_by_session", "trajectories", ["session_id"])
    op.create_index("trajectories_by_quality", "trajectories", ["quality", "number"])
    op.create_table(
        "feedback",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("principal", sa.Text, primary_key=True),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("feedback_by_session", "feedback", ["session_id"])
    op.create_index("feedback_by_time", "feedback", ["at"])
    op.create_table(
        "vectors",
        sa.Column("number", _ROW_NUMBER, primary_key=True),
        sa.Column("namespace", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("embedder", sa.Text, nullable=False),
        sa.Column("dimensions", sa.Integer, nullable=False),
        sa.Column("blob", sa.LargeBinary, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.UniqueConstraint("namespace", "key", name="vector_keys_are_unique"),
    )
    op.create_index("vectors_by_session", "vectors", ["session_id"])


def downgrade() -> None:
    """Drop the tables, and with them all that was learnt."""
    for name in ("vectors", "feedback", "trajectories"):
        op.drop_table(name)
