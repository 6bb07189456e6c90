"""Alembic environment: uses the given connection and its open transaction."""

from alembic import context

from sophon.stores.sql.schema import metadata
from sophon.stores.sql.schema_migration import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSION_TABLE
)
with context.begin_transaction():
    context.run_migrations()
