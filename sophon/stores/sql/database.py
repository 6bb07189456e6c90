"""A database as the rooms of a store see it: work that reads, work that writes, and neither blocks the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL, Connection
from sqlalchemy.exc import SQLAlchemyError

from sophon.errors import SophonError, StoreError
from sophon.stores.sql.dialects import READERS, engine_for, make_ready, name_of
from sophon.stores.sql.faults import store_error
from sophon.stores.sql.upgrade import is_current, upgrade
from sophon.stores.sql.writer import Writer

T = TypeVar("T")


class Database:
    """One writer, `READERS` readers, each in a thread with a connection of its own.

    What a write has returned from is seen by every later read. `patience_seconds` is how long a lock of another
    process is waited for. `at_open` is work to be done each time after the schema is in order.
    """

    def __init__(self, url: URL, patience_seconds: float, at_open: Callable[[Connection], object]) -> None:
        self.name = name_of(url)
        self._file = Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None
        self._patience_seconds = patience_seconds
        self._at_open = at_open
        try:
            self._reading = engine_for(url, "read", patience_seconds)
            self._writing = engine_for(url, "write", patience_seconds)
        except (SQLAlchemyError, ModuleNotFoundError) as error:
            raise store_error(self.name, error) from error
        # Prepared statements meet the driver itself.
        self._faults = (SQLAlchemyError, self._writing.dialect.loaded_dbapi.Error)
        self._opening = asyncio.Lock()
        self._readers: ThreadPoolExecutor | None = None
        self._writer: Writer | None = None

    async def open(self) -> None:
        """Make the file and its folder, bring the schema up to date, start the threads. Raises StoreError."""
        async with self._opening:
            if self._writer is not None:
                return
            readers = ThreadPoolExecutor(READERS, thread_name_prefix="sophon-reader")
            try:
                await asyncio.get_running_loop().run_in_executor(readers, self._prepare)
            except BaseException:
                readers.shutdown(wait=False)
                raise
            self._readers = readers
            self._writer = Writer(self._writing, partial(self._let_go, readers))

    async def close(self) -> None:
        """Write what is queued, finish the reads that are under way, close the connections, end the threads."""
        writer, self._writer, self._readers = self._writer, None, None
        if writer is not None:
            await writer.close()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run work on one consistent state of the database; it may not write."""
        if self._readers is None:
            raise self._not_open()
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run work in a transaction, all or none of it; done when this returns, and even if the caller is cancelled."""
        if self._writer is None:
            raise self._not_open()
        try:
            return await self._writer.submit(work)
        except self._faults as error:
            raise store_error(self.name, error) from error

    def _read(self, work: Callable[[Connection], T]) -> T:
        try:
            with self._reading.connect() as connection:
                return work(connection)
        except SQLAlchemyError as error:
            raise store_error(self.name, error) from error

    def _prepare(self) -> None:
        try:
            if self._file is not None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
            self._bring_up_to_date()
        except SophonError:
            raise
        except Exception as error:
            raise store_error(self.name, error) from error
        finally:
            # Nothing stays open here: an open() that is cancelled or fails leaves no connection behind.
            self._dispose()

    def _bring_up_to_date(self) -> None:
        with self._reading.connect() as connection:
            # Before anything is written: a database of another program is left as it is.
            current = is_current(connection, self.name)
        make_ready(self._writing, self._patience_seconds)
        with self._writing.begin() as connection:
            # Alembic asks again under the lock: of two processes that open a new database, one finds it done.
            if not current:
                upgrade(connection)
            self._at_open(connection)

    def _let_go(self, readers: ThreadPoolExecutor) -> None:
        readers.shutdown(wait=True)
        self._dispose()

    def _dispose(self) -> None:
        self._reading.dispose()
        self._writing.dispose()

    def _not_open(self) -> StoreError:
        return StoreError(self.name, "it is not open; call `await store.open()` first")
