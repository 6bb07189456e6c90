"""Refusals, interruptions and retry time of outbound entries, an index of the dead letters, and the status `withdrawn`.

`attempts` counted every send until now, also refused and postponed ones; of an entry that is not in doubt it starts
anew. Entries that were given up because they were no longer needed are not dead letters.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_IS_DEAD = sa.text("status = 'dead'")
_OUTBOUND = sa.table(
    "outbound",
    sa.column("status", sa.Text),
    sa.column("last_error", sa.Text),
    sa.column("attempts", sa.BigInteger),
    sa.column("doubtful", sa.Boolean),
)
_WITHDRAWN_REASONS = sa.or_(
    _OUTBOUND.c.last_error == "decided before the prompt was sent",
    _OUTBOUND.c.last_error.like("the chat is % now"),
)


def upgrade() -> None:
    """Add columns and index; convert the rows."""
    op.add_column("outbound", sa.Column("interruptions", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("outbound", sa.Column("refusals", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("outbound", sa.Column("retried_at", sa.DateTime(timezone=True)))
    op.create_index("outbound_dead", "outbound", ["number"], sqlite_where=_IS_DEAD, postgresql_where=_IS_DEAD)
    op.execute(_OUTBOUND.update().where(_OUTBOUND.c.status == "dead", _WITHDRAWN_REASONS).values(status="withdrawn"))
    op.execute(
        _OUTBOUND.update()
        .where(_OUTBOUND.c.status.in_(("pending", "refused")), sa.not_(_OUTBOUND.c.doubtful))
        .values(attempts=0)
    )


def downgrade() -> None:
    """Drop columns and index; a withdrawn entry is dead again."""
    op.execute(_OUTBOUND.update().where(_OUTBOUND.c.status == "withdrawn").values(status="dead"))
    op.drop_index("outbound_dead", "outbound")
    with op.batch_alter_table("outbound") as outbound:
        outbound.drop_column("retried_at")
        outbound.drop_column("refusals")
        outbound.drop_column("interruptions")
