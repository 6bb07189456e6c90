"""Hosts of another version on the store: none of them may run while its schema is migrated."""

from sqlalchemy import Connection, func, inspect, select

from sophon.errors import StoreError
from sophon.stores.host_lease_prefix import HOST_PREFIX
from sophon.stores.sql.schema import leases
from sophon.stores.sql.schema_migration import newest_version, read_version


class SchemaReplaced(Exception):
    """The schema was migrated by another process; its version is the argument."""


def check_no_older_hosts(connection: Connection, store: str) -> None:
    """Raise StoreError if live host processes use the schema that is about to be migrated.

    An SQLite file is for one process, which the store lock ensures; its leases are by the clock of a process.
    """
    if connection.dialect.name == "sqlite" or not inspect(connection).has_table(leases.name):
        return
    live = (leases.c.until > func.clock_timestamp()) & (leases.c.schema_version != newest_version())
    found = connection.execute(select(leases.c.name).where(live).order_by(leases.c.name)).scalars()
    hosts = [name.removeprefix(HOST_PREFIX) for name in found if name.startswith(HOST_PREFIX)]
    if hosts:
        raise StoreError(
            store,
            f"its schema must be migrated from {read_version(connection)} to {newest_version()}, and {len(hosts)} "
            f"hosts of another version use it ({', '.join(hosts[:3])}); stop them first (a killed one counts for 30 s) "
            "or stop them from writing with `sophon migrate --schema --force`",
        )


def check_not_replaced(connection: Connection) -> None:
    """Raise SchemaReplaced if another process has migrated the schema since this one opened the store."""
    version = read_version(connection)
    if version != newest_version():
        raise SchemaReplaced(version)


def describe_replacement(version: object) -> str:
    """Return what is wrong if the schema was migrated to another version, and what to do."""
    return (
        f"its schema was migrated to {version} by another process, and this one knows {newest_version()}; "
        "restart it with that version of Sophon"
    )
