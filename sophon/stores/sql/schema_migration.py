"""Schema of a database: made at once when it is new, its version checked, brought up to date by Alembic.

The next version of the schema: change the tables, write `migrations/versions/NUMBER_name.py`, append the number to
`REVISIONS`, and run `python -m tests.sophon.stores.sql.known_schemas`, whose files are the schemas to migrate from.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.engine.mock import MockConnection

from sophon.errors import StoreError
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.schema import CHAIN_TABLES, metadata
from sophon.stores.sql.schema.schema_metadata import repeat_conditions

AddedTables: TypeAlias = Sequence[Sequence[Table]]
"""Tables beside those of a chain, in groups: a store has all tables of a group or none of them."""

REVISIONS = ("0001",)
"""The versions, oldest first. Listed here so that a current schema is recognised without importing Alembic."""

MIGRATIONS = Path(__file__).parent / "migrations"

VERSION_TABLE = "sophon_version"
"""Alembic's version table, renamed because another program in the same database may use the default name."""

QUEUE_VERSION_SUFFIX = "_queue_version"
"""End of the name of the table that each task queue of Sophon in a PostgreSQL database has; its other tables begin with
the same words. Queue and store may share a database, and either may come first."""

_SQLITE_COLUMNS = (
    "SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns "
    "WHERE tables.type = 'table' AND tables.sql NOT LIKE 'CREATE VIRTUAL%'"
)

_versions = Table(
    VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)
_SELECT_VERSION = PreparedStatement(lambda _: select(_versions.c.version_num))
"""As Alembic makes it."""


def newest_version() -> str:
    """Return the version of the schema that this Sophon uses."""
    return REVISIONS[-1]


def is_schema_current(connection: Connection, store: str) -> bool:
    """Return whether no migration is needed; StoreError for a newer schema, or for tables of another program."""
    inspector = inspect(connection)
    if not inspector.has_table(VERSION_TABLE):
        other_tables = remove_queue_tables(inspector.get_table_names())
        if other_tables:
            raise StoreError(
                store,
                f"it holds tables of another program ({', '.join(other_tables[:3])}); give Sophon one of its own",
            )
        return False
    version = read_version(connection)
    if version is not None and version not in REVISIONS:
        raise StoreError(
            store,
            f"its schema {version!r} is unknown to this Sophon, whose own is {newest_version()!r}: it was made by a "
            "newer one, or before the first release; update Sophon, or give it a new store",
        )
    return version == newest_version()


def remove_queue_tables(names: Sequence[str]) -> list[str]:
    """Return the names without those of the tables of Sophon's task queues."""
    queues = [each.removesuffix("version") for each in names if each.endswith(QUEUE_VERSION_SUFFIX)]
    return [each for each in names if not each.startswith(tuple(queues))]


def read_version(connection: Connection) -> str | None:
    """Return the version of the schema of a store; None before its first migration."""
    found = _SELECT_VERSION.fetch_row(connection, {})
    return None if found is None else str(found[0])


def find_schema_gaps(connection: Connection, added: AddedTables = ()) -> list[str]:
    """Return one line per table or column that the schema lacks, although its version is current.

    A group of added tables of which it has none is no gap: nobody has opened the store with it.
    """
    present = _read_columns(connection)
    known = [group for group in added if any(table.name in present for table in group)]
    gaps = list[str]()
    for table in (*CHAIN_TABLES, *(table for group in known for table in group)):
        columns = present.get(table.name)
        if columns is None:
            gaps.append(f"the table {table.name} is missing")
        else:
            gaps += [f"the column {table.name}.{each.name} is missing" for each in table.c if each.name not in columns]
    return gaps


def lacks_added_tables(connection: Connection, added: AddedTables) -> bool:
    """Return whether a schema without gaps lacks a group of the tables that are added to those of a chain."""
    return any(not inspect(connection).has_table(group[0].name) for group in added)


def _read_columns(connection: Connection) -> dict[str, set[str]]:
    """Return the columns of the tables. One query for SQLite, because every opening of a file asks."""
    if connection.dialect.name != "sqlite":
        found = inspect(connection).get_multi_columns()
        return {name: {column["name"] for column in columns} for (_, name), columns in found.items()}
    columns: dict[str, set[str]] = {}
    for table, column in connection.execute(text(_SQLITE_COLUMNS)):
        columns.setdefault(table, set()).add(column)
    return columns


def create_or_migrate_schema(connection: Connection, added: AddedTables = ()) -> None:
    """Make the schema of an empty database, or what is missing of one, inside the connection's transaction."""
    if not inspect(connection).has_table(VERSION_TABLE):
        create_tables(connection, (*CHAIN_TABLES, *(table for group in added for table in group)))
        _versions.create(connection)
        connection.execute(insert(_versions).values(version_num=newest_version()))
        return
    if read_version(connection) != newest_version():
        migrate_schema(connection)
    for group in added:
        if lacks_added_tables(connection, (group,)):
            create_tables(connection, group)


def create_tables(connection: Connection | MockConnection, tables: Sequence[Table]) -> None:
    """Make these tables, none of which exists, with their indexes."""
    if connection.dialect.name == "postgresql":
        repeat_conditions()
    metadata.create_all(connection, tables, checkfirst=False)


def migrate_schema(connection: Connection) -> None:
    """Run the missing migrations inside the connection's transaction."""
    # Imported lazily: heavy, and needed once per new version of the schema.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
