"""Maintenance of an SQL store: an SQLite file, or a PostgreSQL database, which vacuums and checks its pages itself."""

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

from sophon.clock import Clock
from sophon.errors import StoreError
from sophon.stores.maintenance.contract import SchemaVersions, StoreSpace
from sophon.stores.sql import sqlite_integrity
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


class SqlMaintenance:
    """The maintenance of an `SqlStore`; see `StoreMaintenance`."""

    def __init__(self, database: Database, url: URL, clock: Clock) -> None:
        self._database, self._url, self._clock = database, url, clock

    async def verify(self) -> None:
        """See `StoreMaintenance.verify`. PostgreSQL: nothing. `SqlStore.open` compares the schema."""
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
        """See `StoreMaintenance.find_damage`."""
        file = self._database.file
        if file is None:
            return await asyncio.to_thread(self._inspect, _find_schema_gaps)
        if not file.is_file():
            return []
        found = await asyncio.to_thread(sqlite_integrity.check_database, file, "integrity_check")
        return list(found.problems) or await asyncio.to_thread(self._inspect, _find_schema_gaps)

    async def read_schema(self) -> SchemaVersions:
        """See `StoreMaintenance.read_schema`."""
        if self._database.file is not None and not self._database.file.is_file():
            return SchemaVersions("", newest_version())
        return SchemaVersions(await asyncio.to_thread(self._inspect, _read_version), newest_version())

    async def migrate_schema(self, *, force: bool = False) -> None:
        """See `StoreMaintenance.migrate_schema`."""
        await self._database.migrate(force=force)

    async def probe(self) -> None:
        """See `StoreMaintenance.probe`."""
        await self._database.write(partial(_probe, at=self._clock.now()))

    async def measure_space(self) -> StoreSpace:
        """See `StoreMaintenance.measure_space`. The free space of a PostgreSQL server is unknown."""
        file = self._database.file
        if file is None:
            return StoreSpace(await self._database.read(_server_size))
        space = await asyncio.to_thread(_file_space, file)
        self._database.health.record_free_space(space.free_bytes)
        return space

    async def reclaim_space(self) -> int:
        """See `StoreMaintenance.reclaim_space`. Truncates the write-ahead log, too."""
        if self._database.file is None:
            return 0
        reclaimed = 0
        while slice_bytes := await self._database.write(_vacuum_slice):
            reclaimed += slice_bytes
        await self._database.run_outside_transaction(truncate_log)
        return reclaimed

    async def vacuum(self) -> None:
        """See `StoreMaintenance.vacuum`. An SQLite file returns its free pages by itself from then on; it is closed
        meanwhile.
        """
        file = self._database.file
        try:
            if file is None:
                await asyncio.to_thread(self._vacuum_server)
                return
            await self._database.close()
            try:
                await asyncio.to_thread(sqlite_integrity.vacuum, file)
            finally:
                await self._database.open()
        except self._database.database_errors as error:
            raise to_store_error(self._database.name, error) from error

    def _vacuum_server(self) -> None:
        engine = create_engine(self._url, isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                connection.execute(text("VACUUM"))
        finally:
            engine.dispose()

    def _inspect(self, read: Callable[[Connection, bool], T]) -> T:
        """Read something about the schema, given whether it is current. Raises StoreError for one of another program
        or a newer Sophon.
        """
        file = self._database.file
        engine = create_engine(self._url) if file is None else _create_read_only_engine(file)
        try:
            with engine.connect() as connection:
                return read(connection, is_schema_current(connection, self._database.name))
        except SQLAlchemyError as error:
            raise to_store_error(self._database.name, error) from error
        finally:
            engine.dispose()


def _find_schema_gaps(connection: Connection, is_current: bool) -> list[str]:
    """Return what a current schema lacks; one that is older is migrated on opening."""
    return find_schema_gaps(connection) if is_current else []


def _read_version(connection: Connection, _: bool) -> str:
    return (read_version(connection) or "") if inspect(connection).has_table(VERSION_TABLE) else ""


def _create_read_only_engine(file: Path) -> Engine:
    # Without a log of its own, which the last of several connections would write into the file on closing.
    return create_engine("sqlite://", creator=partial(sqlite_integrity.connect_read_only, file), poolclass=NullPool)


def _probe(connection: Connection, at: datetime) -> None:
    if not connection.execute(update(probes).values(at=at)).rowcount:
        connection.execute(insert(probes), {"number": PROBE_NUMBER, "at": at})


def _server_size(connection: Connection) -> int:
    return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())


def _file_space(file: Path) -> StoreSpace:
    files = (Path(f"{file}{suffix}") for suffix in COMPANIONS)
    return StoreSpace(sum(each.stat().st_size for each in files if each.is_file()), shutil.disk_usage(file.parent).free)


def _vacuum_slice(connection: Connection) -> int:
    """Return at most `VACUUM_SLICE_BYTES` of free pages to the disk; return how many bytes. 0: no free page, or a file
    that was made without `auto_vacuum`.
    """

    def pragma(name: str) -> int:
        return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())

    page_bytes = pragma("page_size")
    most = VACUUM_SLICE_BYTES // page_bytes
    count = min(pragma("freelist_count"), most) if pragma("auto_vacuum") else 0
    for _ in range(count):
        # One page per statement: sqlite3 ends a statement without columns after its first step.
        connection.exec_driver_sql("PRAGMA incremental_vacuum(1)")
    return count * page_bytes
