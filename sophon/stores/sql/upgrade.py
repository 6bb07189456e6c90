"""The version of the schema, and how an older one is brought up to it."""

from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, Table, Text, inspect, select

from sophon.errors import StoreError

REVISIONS = ("0001", "0002", "0003")
"""The migrations, oldest first. Kept here as well, so that a current schema is known without importing Alembic."""

VERSION_TABLE = "sophon_version"
"""Not Alembic's usual name, which another program in the same database may already use."""

_versions = Table(VERSION_TABLE, MetaData(), Column("version_num", Text))


def is_current(connection: Connection, store: str) -> bool:
    """Whether there is nothing to do; StoreError for a newer schema, or for tables that are not ours."""
    inspector = inspect(connection)
    if not inspector.has_table(VERSION_TABLE):
        strange = inspector.get_table_names()
        if strange:
            raise StoreError(
                store, f"it holds tables of another program ({', '.join(strange[:3])}); give Sophon one of its own"
            )
        return False
    version = connection.execute(select(_versions.c.version_num)).scalar_one_or_none()
    if version is not None and version not in REVISIONS:
        raise StoreError(
            store, f"its schema {version!r} is newer than this Sophon, which knows {REVISIONS[-1]!r}; update Sophon"
        )
    return version == REVISIONS[-1]


def upgrade(connection: Connection) -> None:
    """Run the migrations that are missing, inside the transaction of the connection."""
    # Heavy, and needed once in the life of a database.
    from alembic import command
    from alembic.config import Config

    config = Config()
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
