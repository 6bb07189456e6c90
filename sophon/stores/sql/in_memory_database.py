"""Database in memory: a copy of a template with the schema, used on the thread of the event loop.

One connection, without threads: a statement in memory takes microseconds, and handing it to a thread would take longer.
So each operation is complete before another task runs, as it would be with dictionaries. What is stored never leaves
the memory of the process: the pages of the database by their nature, and SQLite's temporary tables by `temp_store`.
Conversations off the record rely on that.
"""

import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, NullPool, Table, create_engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError

from sophon.stores.in_memory_url import MEMORY_SCHEME
from sophon.stores.sql.database import Database
from sophon.stores.sql.dialects import PAGE_BYTES
from sophon.stores.sql.schema_migration import AddedTables, create_or_migrate_schema

T = TypeVar("T")

_TEMPLATE_LOCK = threading.Lock()


class MemoryDatabase(Database):
    """A database that lives as long as this object; closing it deletes nothing, and it needs no opening."""

    def __init__(self, added: AddedTables = ()) -> None:
        super().__init__(MEMORY_SCHEME, (SQLAlchemyError, sqlite3.Error), added=added)
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    async def open(self) -> None:
        """Copy the template now, so that the first operation need not."""
        with self._lock:
            self._connect()
        if self._is_extended:
            await self.write(partial(create_or_migrate_schema, added=self.added))
            self._is_extended = False

    async def migrate(self, *, force: bool) -> None:
        """Do nothing: the schema is current."""

    async def close(self) -> None:
        """Do nothing."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """See `Database.read`."""
        with self._use() as connection:
            return work(connection)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """See `Database.write`."""
        with self._use() as connection, connection.begin():
            _execute(connection, "BEGIN")
            return work(connection)

    async def run_outside_transaction(self, work: Callable[[DBAPIConnection], T]) -> T:
        """See `Database.run_outside_transaction`."""
        with self._use() as connection:
            return work(_driver_connection(connection))

    @contextmanager
    def _use(self) -> Generator[Connection]:
        """Yield the connection; a transaction that is open at the end is rolled back."""
        with self._lock:
            connection = self._connect()
            try:
                yield connection
            except self.database_errors as error:
                raise self._to_runtime_error(error) from error
            finally:
                if connection.in_transaction():
                    connection.rollback()

    def _connect(self) -> Connection:
        if self._connection is None:
            self._connection = _engine(self.added).connect()
        return self._connection


@cache
def _engine(added: tuple[tuple[Table, ...], ...]) -> Engine:
    """Return the one engine of all databases in memory with these tables, which share its compiled statements."""
    return create_engine("sqlite://", creator=partial(_copy_template, added), poolclass=NullPool)


def _copy_template(added: tuple[tuple[Table, ...], ...]) -> sqlite3.Connection:
    copy = _connect_empty()
    with _TEMPLATE_LOCK:
        _template(added).backup(copy)
    return copy


@cache
def _template(added: tuple[tuple[Table, ...], ...]) -> sqlite3.Connection:
    """Return the database with the schema of which each is a copy: half a millisecond, where the schema takes 16."""
    template = _connect_empty()
    with create_engine("sqlite://", creator=_connect_empty, poolclass=NullPool).connect() as connection:
        create_or_migrate_schema(connection, added)
        _driver_connection(connection).backup(template)
    return template


def _connect_empty() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA temp_store=MEMORY")
    connection.execute(f"PRAGMA page_size={PAGE_BYTES}")  # a fourth of SQLite's: each table and index has one at least
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


def _driver_connection(connection: Connection) -> Any:
    driver_connection = connection.connection.driver_connection
    assert driver_connection is not None
    return driver_connection


def _execute(connection: Connection, statement: str) -> None:
    # Of the driver's cursor: SQLAlchemy takes several times as long for it.
    connection.connection.cursor().execute(statement).close()
