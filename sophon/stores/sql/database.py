"""Database access for the repositories: reader and writer threads, so that no statement blocks the event loop."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL, Connection
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError

from sophon._python.private_files import create_private_file, make_private_folder, tighten_file
from sophon.errors import SophonError, StoreError, StoreUnavailable
from sophon.stores.health import StoreHealth
from sophon.stores.run_fence import RunFence
from sophon.stores.sql.dialects import READER_COUNT, create_engine_for, describe_url, enable_wal
from sophon.stores.sql.errors import to_runtime_error, to_store_error
from sophon.stores.sql.older_hosts import check_no_older_hosts
from sophon.stores.sql.schema_migration import (
    AddedTables,
    create_or_migrate_schema,
    find_schema_gaps,
    is_schema_current,
    lacks_added_tables,
)
from sophon.stores.sql.sqlite_integrity import describe_damage
from sophon.stores.sql.sqlite_log_check import find_log_problem
from sophon.stores.sql.writer import ThreadConnections, WriterThread
from sophon.stores.unit_of_work import WriteKind

T = TypeVar("T")

LOG_CHECK_SECONDS = 10.0
"""Time limit of the check of a write-ahead log on opening, which reads about 10 MB per second."""

log = logging.getLogger("sophon")

COMPANIONS = ("", "-wal", "-shm", "-journal")
"""Suffixes of the files of one database; SQLite gives new companions the mode of the database."""

SQLITE_HEADER = b"SQLite format 3\0"
"""First bytes of every database that is not empty. Source: sqlite.org/fileformat2.html 1.3."""

CHECKPOINT_TIMEOUT_MS = 100
"""How long truncating the write-ahead log waits for readers; it blocks writers meanwhile, and is tried again later."""


class Database:
    """Access of the repositories to a database; `ThreadedDatabase` and `MemoryDatabase` implement it.

    Every later read sees what a completed write wrote. `health` learns from every operation whether the database is
    available. `added` are the groups of tables that its schema has beside those of a chain.
    """

    fence: RunFence | None = None
    """In whose name sessions and journals are written; None: in nobody's."""

    def __init__(
        self,
        name: str,
        errors: tuple[type[Exception], ...],
        file: Path | None = None,
        added: AddedTables = (),
    ) -> None:
        self.name, self.file, self.added = name, file, tuple(map(tuple, added))
        self.health = StoreHealth(name)
        # Prepared statements call the driver directly, so its own errors reach us too.
        self.database_errors = errors
        self._is_extended = False
        """Whether there may be tables to make since it was opened."""
        self._refusal: StoreError | None = None
        """Why this process writes nothing any more."""

    def extend(self, added: AddedTables) -> None:
        """Have these groups of tables, too; one that is open makes what it lacks of them when it is opened again."""
        self.added = (*self.added, *(group for group in map(tuple, added) if group not in self.added))
        self._is_extended = True

    async def open(self) -> None:
        """Make what is missing of the database, and connect. Raises StoreError."""
        raise NotImplementedError

    async def migrate(self, *, force: bool) -> None:
        """Migrate the schema of a store that is not open here. Raises StoreError.

        While hosts of another version use it, only with `force`.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Complete what was begun, and disconnect."""
        raise NotImplementedError

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot of the database; it must not write. Raises StoreUnavailable."""
        raise NotImplementedError

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction, which completes even if the caller is cancelled and waits no longer for it.

        Raises StoreUnavailable.
        """
        raise NotImplementedError

    async def add(self, kind: WriteKind, work: Callable[[Connection], object]) -> None:
        """Store a small write that returns nothing: now, or in the database of a turn with its next transaction."""
        await self.write(work)

    async def run_outside_transaction(self, work: Callable[[DBAPIConnection], T]) -> T:
        """Run `work` with a reader's driver connection, on which no transaction is open. Raises StoreUnavailable."""
        raise NotImplementedError

    def refuse_writes(self, problem: str) -> StoreError:
        """Write nothing any more until the store is opened again; return the error that every write raises."""
        self._refusal = StoreError(self.name, problem)
        return self._refusal

    async def clear_log(self) -> None:
        """Empty SQLite's write-ahead log after a deletion: it holds copies of what was deleted.

        While a reader needs it, it stays until the next write after that. An error is none of the deletion.
        """
        if self.file is not None:
            with suppress(StoreError):
                await self.run_outside_transaction(truncate_log)

    def _to_runtime_error(self, error: Exception) -> StoreError:
        found = to_runtime_error(self.name, error)
        if isinstance(found, StoreUnavailable):
            self.health.record_failure(found.kind)
        return found


class ThreadedDatabase(Database):
    """A file or a server: one writer thread and `READER_COUNT` reader threads, each with its own connection.

    `lock_timeout_seconds` is the timeout for a lock of another process. `on_open` runs on each open, once the schema is
    current.
    """

    def __init__(
        self,
        url: URL,
        lock_timeout_seconds: float,
        on_open: Callable[[Connection], object],
        added: AddedTables = (),
    ) -> None:
        name = describe_url(url)
        self._lock_timeout_seconds = lock_timeout_seconds
        self._on_open = on_open
        try:
            self._read_engine = create_engine_for(url, "read", lock_timeout_seconds)
            self._write_engine = create_engine_for(url, "write", lock_timeout_seconds)
        except (SQLAlchemyError, ModuleNotFoundError) as error:
            raise to_store_error(name, error) from error
        file = Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None
        super().__init__(name, (SQLAlchemyError, self._write_engine.dialect.loaded_dbapi.Error), file, added)
        self._read_connections = ThreadConnections(self._read_engine)
        self._write_connections = ThreadConnections(self._write_engine)
        self._open_lock = asyncio.Lock()
        self._readers: ThreadPoolExecutor | None = None
        self._writer: WriterThread | None = None

    async def open(self) -> None:
        """Create the file and its folder, migrate the schema, start the threads. Raises StoreError."""
        async with self._open_lock:
            if self._writer is not None:
                if self._is_extended:
                    await self.write(partial(create_or_migrate_schema, added=self.added))
                    self._is_extended = False
                return
            readers = ThreadPoolExecutor(READER_COUNT, thread_name_prefix="sophon-reader")
            try:
                await asyncio.get_running_loop().run_in_executor(readers, self._prepare)
            except BaseException:
                readers.shutdown(wait=False)
                raise
            self._readers, self._refusal, self._is_extended = readers, None, False
            self._writer = WriterThread(
                self._write_connections,
                partial(self._release, readers),
                partial(self.health.record_failure, "unreachable"),
            )

    async def migrate(self, *, force: bool) -> None:
        """Migrate the schema of a store that is not open here. Raises StoreError.

        While hosts of another version use it, only with `force`.
        """
        async with self._open_lock:
            await asyncio.to_thread(self._prepare, force=force)

    async def close(self) -> None:
        """Complete queued writes and running reads, close the connections, end the threads."""
        writer, self._writer, self._readers = self._writer, None, None
        if writer is not None:
            await writer.close()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot of the database; it must not write. Raises StoreUnavailable."""
        if self._readers is None:
            raise self._not_open_error()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)
        except self.database_errors as error:
            raise self._to_runtime_error(error) from error

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction, which completes even if the caller is cancelled and waits no longer for it.

        Raises StoreUnavailable.
        """
        if self._writer is None:
            raise self._not_open_error()
        if self._refusal is not None:
            raise self._refusal
        try:
            result = await self._writer.submit(work)
        except self.database_errors as error:
            raise self._to_runtime_error(error) from error
        self.health.record_success()
        return result

    async def run_outside_transaction(self, work: Callable[[DBAPIConnection], T]) -> T:
        """Run `work` with a reader's driver connection, on which no transaction is open. Raises StoreUnavailable."""
        if self._readers is None:
            raise self._not_open_error()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, self._run_raw, work)
        except self.database_errors as error:
            raise self._to_runtime_error(error) from error

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self._read_connections.connect() as connection:
            return work(connection)

    def _run_raw(self, work: Callable[[DBAPIConnection], T]) -> T:
        with self._read_connections.connect() as connection:
            driver_connection = connection.connection.driver_connection
            assert driver_connection is not None
            return work(driver_connection)

    def _prepare(self, *, force: bool = False) -> None:
        try:
            if self.file is not None:
                secure_database_file(self.file)
                self._check_log(self.file)
            self._migrate(force=force)
        except SophonError:
            raise
        except Exception as error:
            raise to_store_error(self.name, error) from error
        finally:
            # An open() that is cancelled or fails leaves no connection open.
            self._dispose()

    def _migrate(self, *, force: bool) -> None:
        with self._read_engine.connect() as connection:
            # Before anything is written: another program's database must stay unchanged.
            current = is_schema_current(connection, self.name)
            if current:
                self._check_schema(connection)
                current = not lacks_added_tables(connection, self.added)
        enable_wal(self._write_engine, self._lock_timeout_seconds)
        with self._write_engine.begin() as connection:
            # It is checked again under the lock: of two processes that open a new database, only one makes its schema.
            if not current:
                if not force:
                    check_no_older_hosts(connection, self.name)
                create_or_migrate_schema(connection, self.added)
                self._check_schema(connection)
            self._on_open(connection)

    def _check_log(self, file: Path) -> None:
        # Whoever opens the file, not only a host: SQLite discards the log as soon as anything is written.
        problem = find_log_problem(file, time.monotonic() + LOG_CHECK_SECONDS)
        if problem is not None:
            raise StoreError(self.name, describe_damage(file, [problem]))

    def _check_schema(self, connection: Connection) -> None:
        gaps = find_schema_gaps(connection, self.added)
        if gaps:
            raise StoreError(self.name, f"its schema is incomplete: {'; '.join(gaps[:3])}; restore a backup")

    def _release(self, readers: ThreadPoolExecutor) -> None:
        readers.shutdown(wait=True)
        self._dispose()

    def _dispose(self) -> None:
        self._read_connections.close()
        self._write_connections.close()
        self._read_engine.dispose()
        self._write_engine.dispose()

    def _not_open_error(self) -> StoreError:
        return StoreError(
            self.name,
            "it is not open: write `async with services:`, or `await services.open()` first",
        )


def secure_database_file(path: Path) -> None:
    """Create the file and its folder, if missing, with modes 0600 and 0700; take the rights of others from the files.

    Raises OSError.
    """
    make_private_folder(path.parent)
    create_private_file(path)
    if not path.is_file() or not _may_be_database(
        path
    ):  # a file of something else: opening it fails, and its mode is not ours to change
        return
    tightened = [each for suffix in COMPANIONS if tighten_file(each := Path(f"{path}{suffix}"))]
    if tightened:
        names = ", ".join(each.name for each in tightened)
        log.warning("others could read the database in %s; mode 0600 was set on %s", path.parent, names)


def _may_be_database(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(len(SQLITE_HEADER))
    return head in (b"", SQLITE_HEADER)


def truncate_log(connection: DBAPIConnection) -> None:
    """Write the write-ahead log into the database file and empty it, unless readers need it now."""
    with closing(connection.cursor()) as cursor:
        previous = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
        # Most of the work, while writers go on; the rest blocks them.
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        cursor.execute(f"PRAGMA busy_timeout={CHECKPOINT_TIMEOUT_MS}").fetchall()
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            cursor.execute(f"PRAGMA busy_timeout={previous}").fetchall()
