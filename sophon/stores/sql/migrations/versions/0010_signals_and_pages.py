"""Signalled runs, and indexes of the open approvals and of pages of sessions.

A cancellation or a decision that no start of its run has seen yet is a signal.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_IS_SIGNALLED = sa.text("signalled")
_IS_OPEN = sa.text("decision IS NULL")
_RUNS = sa.table(
    "runs",
    sa.column("session_id", sa.Text),
    sa.column("status", sa.Text),
    sa.column("finished_at", sa.DateTime),
    sa.column("cancel_requested", sa.Boolean),
    sa.column("signalled", sa.Boolean),
)
_APPROVALS = sa.table("approvals", sa.column("session_id", sa.Text), sa.column("decided_at", sa.DateTime))


def upgrade() -> None:
    """Add column and indexes; set the signals."""
    op.add_column("runs", sa.Column("signalled", sa.Boolean, nullable=False, server_default=sa.false()))
    is_decided = sa.exists().where(_APPROVALS.c.session_id == _RUNS.c.session_id, _APPROVALS.c.decided_at.is_not(None))
    is_signalled = _RUNS.c.cancel_requested | ((_RUNS.c.status == "suspended") & is_decided)
    op.execute(_RUNS.update().where(_RUNS.c.finished_at.is_(None), is_signalled).values(signalled=True))
    op.create_index("runs_signalled", "runs", ["number"], sqlite_where=_IS_SIGNALLED, postgresql_where=_IS_SIGNALLED)
    op.create_index(
        "approvals_open", "approvals", ["asked_at", "number"], sqlite_where=_IS_OPEN, postgresql_where=_IS_OPEN
    )
    op.create_index("sessions_by_update", "sessions", ["updated_at", "number"])
    op.create_index("sessions_by_owner", "sessions", ["owner", "updated_at", "number"])


def downgrade() -> None:
    """Drop column and indexes."""
    op.drop_index("sessions_by_owner", "sessions")
    op.drop_index("sessions_by_update", "sessions")
    op.drop_index("approvals_open", "approvals")
    op.drop_index("runs_signalled", "runs")
    with op.batch_alter_table("runs") as runs:
        runs.drop_column("signalled")
