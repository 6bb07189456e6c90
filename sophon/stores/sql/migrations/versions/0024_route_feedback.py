"""What people say about answers, averaged beside the score by form."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Add the columns; averages of before have heard nobody."""
    op.add_column("route_averages", sa.Column("rated", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("route_averages", sa.Column("said", sa.Double))


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("route_averages", "said")
    op.drop_column("route_averages", "rated")
