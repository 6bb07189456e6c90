"""The first schema. New databases are made at once from `sophon.stores.sql.schema`, so that there is nothing to do."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Do nothing: no database is older."""
