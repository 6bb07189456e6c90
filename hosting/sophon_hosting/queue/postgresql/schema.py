"""Tables and functions of a queue in its database: created by whichever process is first, and versioned."""

from pathlib import Path
from zlib import crc32

from psycopg import AsyncConnection

from sophon._python.lazy_pattern import lazy_pattern
from sophon_hosting.queue.errors import QueueUnavailable

VERSION = 1
"""Version of the tables and functions. Raise it with every change of the .sql files."""

PREFIX = "sophon_queue_"
"""Stands in the .sql files for the prefix of the queue."""

_FILES = ("tables.sql", "lanes.sql", "entries.sql", "deliveries.sql")
_LOCK_SPACE = 507014
"""First part of the advisory locks under which schemas are created; the second one is of the name."""

# Not `to_regclass`: it may answer from a cache of before the lock.
_HAS_VERSION = """
SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relname = 'sophon_queue_version'
"""
_INSERT_VERSION = f"INSERT INTO sophon_queue_version VALUES ({VERSION}, clock_timestamp())"  # noqa: S608 - constant
_FUNCTION = lazy_pattern(r"(?m)^CREATE FUNCTION (\w+)")
_DROP_TABLES = """
DROP TYPE IF EXISTS sophon_queue_delivery, sophon_queue_admission;
DROP TABLE IF EXISTS sophon_queue_entries, sophon_queue_lanes, sophon_queue_owners, sophon_queue_dead,
    sophon_queue_hosts, sophon_queue_version;
DROP SEQUENCE IF EXISTS sophon_queue_order
"""


def with_prefix(sql: str, name: str) -> bytes:
    """Return the SQL for the queue of this name, which is `Queue.Name`: lower-case letters, digits, `_`."""
    return sql.replace(PREFIX, f"{name}_queue_").encode()


async def ensure_schema(connection: AsyncConnection, name: str) -> None:
    """Create what is missing. The tables of an older version are replaced, because the store has what waits in them.

    Raises QueueUnavailable for a newer version.
    """
    if await _read_version(connection, name) == VERSION:
        return
    async with connection.transaction():
        lock = f"SELECT pg_advisory_xact_lock({_LOCK_SPACE}, {crc32(name.encode()) - 2**31})"
        await connection.execute(lock.encode())
        found = await _read_version(connection, name)
        if found is not None and found > VERSION:
            raise QueueUnavailable(
                f"{name!r} in PostgreSQL",
                f"its tables have version {found}, newer than this Sophon, which knows {VERSION}; update Sophon",
            )
        if found == VERSION:
            return
        await drop_schema(connection, name)
        await connection.execute(with_prefix(_read_files(), name))
        await connection.execute(with_prefix(_INSERT_VERSION, name))


async def drop_schema(connection: AsyncConnection, name: str) -> None:
    """Remove the tables and functions of a queue, with all that waits in it."""
    functions = "".join(f"DROP FUNCTION IF EXISTS {each};" for each in _FUNCTION.findall(_read_files()))
    await connection.execute(with_prefix(f"{functions}{_DROP_TABLES}", name), prepare=False)


def _read_files() -> str:
    return "".join((Path(__file__).parent / file).read_text("utf-8") for file in _FILES)


async def _read_version(connection: AsyncConnection, name: str) -> int | None:
    """Return the version of the tables; None if there are none."""
    asked = await connection.execute(with_prefix(_HAS_VERSION, name))
    if await asked.fetchone() is None:
        return None
    asked = await connection.execute(with_prefix("SELECT version FROM sophon_queue_version", name))
    found = await asked.fetchone()
    return int(found[0]) if found else None
