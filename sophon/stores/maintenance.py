"""Maintenance of a store: whether it is intact and writable, the space it uses, and how space is returned.

A PostgreSQL database vacuums and checks its pages itself; a store in memory has no disk.
"""

import asyncio
import logging
import shutil
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, insert, inspect, text, update
from sqlalchemy.exc import SQLAlchemyError

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.errors import StoreError
from sophon.stores.sql import sqlite_integrity
from sophon.stores.sql.batched_deletion import write_in_batches
from sophon.stores.sql.database import COMPANIONS, Database, truncate_log
from sophon.stores.sql.errors import to_store_error
from sophon.stores.sql.schema import probes
from sophon.stores.sql.schema_migration import (
    VERSION_TABLE,
    find_schema_gaps,
    is_schema_current,
    newest_version,
    read_version,
)

log = logging.getLogger("sophon")

T = TypeVar("T")

START_CHECK_SECONDS = 10.0
"""Time limit of `verify`; a check reads 0.7 GB per second (docs/decisions/0019)."""

VACUUM_SLICE_BYTES = 1024 * 1024
"""Bytes of free pages returned per transaction; other writes run in between."""

PROBE_NUMBER = 1


@dataclass(frozen=True, slots=True)
class StoreSpace:
    """Sizes in bytes: what the store uses, and what is free on its disk; None if that is unknown."""

    used_bytes: int
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SchemaVersions:
    """Versions of the schema: that of the store, "" if it has none yet, and the one that this Sophon uses."""

    stored: str
    known: str

    @property
    def is_current(self) -> bool:
        """Whether nothing is to be migrated."""
        return self.stored == self.known


class StoreMaintenance:
    """Maintenance of one store; `url` is None for one in memory. `verify` and `find_damage` change nothing and need no
    open store.
    """

    def __init__(self, database: Database, url: URL | None, clock: Clock) -> None:
        self._database, self._url, self._clock = database, url, clock

    async def verify(self) -> None:
        """Check, in a bounded time, that the stored data is not damaged; call it before the store is opened.

        Raises StoreError, which says what is damaged and what to do.
        """
        file = self._database.file
        if file is None or not file.is_file():
            return
        found = await asyncio.to_thread(sqlite_integrity.check_database, file, "quick_check", START_CHECK_SECONDS)
        if found.problems:
            raise StoreError(self._database.name, sqlite_integrity.describe_damage(file, found.problems))
        if not found.is_complete:
            log.warning(
                "the check of %s was stopped after %g s; `sophon doctor` checks everything", file, START_CHECK_SECONDS
            )

    async def find_damage(self) -> list[str]:
        """Check everything, however long it takes; return one line per problem. Raises StoreError."""
        file, url = self._database.file, self._url
        if url is None or (file is not None and not file.is_file()):
            return []
        if file is not None:
            found = await asyncio.to_thread(sqlite_integrity.check_database, file, "integrity_check")
            if found.problems:
                return list(found.problems)
        return await asyncio.to_thread(self._inspect, url, self._find_schema_gaps)

    async def read_schema(self) -> SchemaVersions:
        """Return the versions of the schema, changing nothing; needs no open store. Raises StoreError."""
        if self._url is None:
            return SchemaVersions(newest_version(), newest_version())
        if self._database.file is not None and not self._database.file.is_file():
            return SchemaVersions("", newest_version())
        return SchemaVersions(await asyncio.to_thread(self._inspect, self._url, _read_version), newest_version())

    async def migrate_schema(self, *, force: bool = False) -> None:
        """Migrate the schema of a store that is not open here, as opening does.

        Raises StoreError; also while hosts of another version use the store, unless `force`: these write nothing any
        more once they renew a lease, a few seconds later.
        """
        await self._database.migrate(force=force)

    async def probe(self) -> None:
        """Write one row in a transaction of its own. Raises StoreUnavailable."""
        await self._database.write(partial(_probe, at=self._clock.now()))

    async def measure_space(self) -> StoreSpace:
        """Measure the space, and tell the store's health how much of its disk is free. Raises StoreUnavailable."""
        file = self._database.file
        if file is None:
            return StoreSpace(await self._database.read(_count_bytes))
        space = await asyncio.to_thread(_file_space, file)
        self._database.health.record_free_space(space.free_bytes)
        return space

    async def reclaim_space(self) -> int:
        """Return the pages of deleted rows to the disk, a few per transaction; return how many bytes.

        Returns 0 where the database does that by itself, or needs `vacuum` for it. Raises StoreUnavailable.
        """
        if self._database.file is None:
            return 0
        reclaimed = await write_in_batches(self._database, _vacuum_slice)
        await self._database.run_outside_transaction(truncate_log)
        return reclaimed

    async def vacuum(self) -> None:
        """Rewrite the whole store without free pages. Blocks every writer; needs as much free space again.

        Raises StoreError.
        """
        file = self._database.file
        if self._url is None:
            return
        try:
            if file is None:
                await asyncio.to_thread(_vacuum_server, self._url)
                return
            await self._database.close()
            try:
                await asyncio.to_thread(sqlite_integrity.vacuum, file)
            finally:
                await self._database.open()
        except self._database.database_errors as error:
            raise to_store_error(self._database.name, error) from error

    def _find_schema_gaps(self, connection: Connection, is_current: bool) -> list[str]:
        """Return what a current schema lacks; one that is older is migrated on opening."""
        return find_schema_gaps(connection, self._database.added) if is_current else []

    def _inspect(self, url: URL, read: Callable[[Connection, bool], T]) -> T:
        """Read something about the schema, given whether it is current. Raises StoreError for one of another program
        or a newer Sophon.
        """
        file = self._database.file
        engine = create_engine(url) if file is None else _create_read_only_engine(file)
        try:
            with engine.connect() as connection:
                return read(connection, is_schema_current(connection, self._database.name))
        except SQLAlchemyError as error:
            raise to_store_error(self._database.name, error) from error
        finally:
            engine.dispose()


def _read_version(connection: Connection, _: bool) -> str:
    return (read_version(connection) or "") if inspect(connection).has_table(VERSION_TABLE) else ""


def _create_read_only_engine(file: Path) -> Engine:
    # Without a log of its own, which the last of several connections would write into the file on closing.
    return create_engine("sqlite://", creator=partial(sqlite_integrity.connect_read_only, file), poolclass=NullPool)


def _probe(connection: Connection, at: datetime) -> None:
    if not connection.execute(update(probes).values(at=at)).rowcount:
        connection.execute(insert(probes), {"number": PROBE_NUMBER, "at": at})


def _count_bytes(connection: Connection) -> int:
    if connection.dialect.name == "sqlite":
        return _pragma(connection, "page_count") * _pragma(connection, "page_size")
    return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())


def _pragma(connection: Connection, name: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())


def _vacuum_server(url: URL) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text("VACUUM"))
    finally:
        engine.dispose()


def _file_space(file: Path) -> StoreSpace:
    files = (Path(f"{file}{suffix}") for suffix in COMPANIONS)
    return StoreSpace(sum(each.stat().st_size for each in files if each.is_file()), shutil.disk_usage(file.parent).free)


def _vacuum_slice(connection: Connection) -> int:
    """Return at most `VACUUM_SLICE_BYTES` of free pages to the disk; return how many bytes. 0: no free page, or a file
    that was made without `auto_vacuum`.
    """
    page_bytes = _pragma(connection, "page_size")
    most = VACUUM_SLICE_BYTES // page_bytes
    count = min(_pragma(connection, "freelist_count"), most) if _pragma(connection, "auto_vacuum") else 0
    for _ in range(count):
        # One page per statement: sqlite3 ends a statement without columns after its first step.
        connection.exec_driver_sql("PRAGMA incremental_vacuum(1)")
    return count * page_bytes
