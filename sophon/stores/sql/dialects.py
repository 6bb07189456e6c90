"""Everything that differs between SQLite and PostgreSQL: drivers, connection set-up, write locks.

Both guarantee that a write transaction has exclusive access from its first statement on, also across processes, so
that a read followed by a write in it is atomic. SQLite does so by BEGIN IMMEDIATE, PostgreSQL by an advisory lock that
ends with the transaction. A caller that waits longer than `lock_timeout_seconds` gets an error.

SQLite 3.24 (2018) or newer is required: systems still in use ship 3.26 and 3.34, so nothing here uses RETURNING.
Settings: WAL, so that readers and the writer do not block each other; `synchronous=FULL`, so that a commit has reached
the disk; Python's own transaction control off, because it begins too late and without the write lock.
"""

import logging
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPIModule

from sophon.security import hide_url_secrets
from sophon.stores.sql.process_locks import hold_process_lock

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

READER_COUNT = 2

WRITE_LOCK_KEY = 5070146863
"""Key of PostgreSQL's advisory lock: an arbitrary constant."""

SERVER_TIMEOUT_SECONDS = 10
"""Connect and TCP timeout for a server that does not answer: without them a thread would wait for hours."""

IDLE_TRANSACTION_SECONDS = 5
"""Time after which the server ends a transaction whose client sends nothing: a process that is stopped within one must
not keep the write lock of all. Below the lock timeout, so that those who wait for the lock succeed."""

DRIVER_BY_SCHEME = {
    "sqlite": "sqlite+pysqlite",
    "sqlite+aiosqlite": "sqlite+pysqlite",
    "sqlite+pysqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+asyncpg": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
"""SQLAlchemy driver by URL scheme; one driver per database."""

PAGE_BYTES = 1024
"""Page size of a new SQLite file. The log holds each changed page as a whole, and most of a turn's rows are small: with
SQLite's 4096 it is three times as large."""

LOG_BYTES = 4 * 1024 * 1024
"""Size of the write-ahead log after which SQLite copies it into the file; its default is 1,000 pages of any size."""

TRANSACTION_ID = "sophon_transaction_id"
"""Key of the id of the open write transaction in `Connection.info`."""

_RETRY_SECONDS = 0.01

POOL_NAME = "sophon"
"""Name of the stores' pools in their logger, so that the pools of other programs keep theirs."""

_LOGGER = logging.getLogger(f"sqlalchemy.pool.impl.QueuePool.{POOL_NAME}")


def create_engine_for(url: URL, mode: Literal["read", "write"], lock_timeout_seconds: float) -> Engine:
    """Create an engine for one writer or for `READER_COUNT` readers; it connects on first use."""
    size = 1 if mode == "write" else READER_COUNT
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url, mode, size, lock_timeout_seconds)
    engine = create_engine(
        url,
        pool_size=size,
        max_overflow=0,
        pool_pre_ping=True,
        pool_logging_name=POOL_NAME,
        isolation_level="READ COMMITTED" if mode == "write" else "REPEATABLE READ",
        connect_args={
            "options": f"-c lock_timeout={int(lock_timeout_seconds * 1000)} "
            f"-c idle_in_transaction_session_timeout={int(IDLE_TRANSACTION_SECONDS * 1000)}",
            "connect_timeout": SERVER_TIMEOUT_SECONDS,
            "tcp_user_timeout": SERVER_TIMEOUT_SECONDS * 1000,
        },
    )
    silence_lost_connections(engine.dialect.loaded_dbapi)
    if mode == "write":
        hold_process_lock(engine)
        event.listen(engine, "begin", _take_write_lock)
    return engine


def enable_wal(engine: Engine, lock_timeout_seconds: float) -> None:
    """Switch an SQLite file to WAL mode; needed once per database, before the first write."""
    if engine.dialect.name != "sqlite":
        return
    deadline = time.monotonic() + lock_timeout_seconds
    connection = engine.raw_connection()
    try:
        # Both take effect in a new database only; `sophon store vacuum` rewrites an existing one with them.
        for statement in (f"PRAGMA page_size={PAGE_BYTES}", "PRAGMA auto_vacuum=INCREMENTAL"):
            connection.cursor().execute(statement)
        # The busy timeout does not apply to concurrent switches of two processes: one fails and must retry.
        while not _switch_to_wal(connection.cursor(), give_up=time.monotonic() > deadline):
            time.sleep(_RETRY_SECONDS)
        _limit_log(connection.cursor())  # of a new database, whose page size was not known on connecting
    finally:
        connection.close()


def build_insert(dialect: str, table: Table) -> "sqlite.Insert | postgresql.Insert":
    """Return an INSERT that supports `on_conflict_do_update` and `on_conflict_do_nothing`."""
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # lazy: 2 MB that a host on SQLite does not need

    return postgresql.insert(table)


def describe_url(url: URL) -> str:
    """Return the database's name for messages: the file, or the URL without user, password and options."""
    if url.get_backend_name() == "sqlite":
        return str(Path(url.database or ""))
    shown = url.set(drivername=url.get_backend_name())  # without the driver, which nobody has written there
    return hide_url_secrets(shown.render_as_string(hide_password=False))


def _sqlite_engine(url: URL, mode: Literal["read", "write"], size: int, patience_seconds: float) -> Engine:
    engine = create_engine(
        url,
        pool_size=size,
        max_overflow=0,
        # One thread uses a connection at a time, but another may close it.
        connect_args={"timeout": patience_seconds, "check_same_thread": False, "isolation_level": None},
    )
    event.listen(engine, "connect", _configure_writer if mode == "write" else _configure_reader)
    event.listen(engine, "begin", _begin_with("BEGIN IMMEDIATE" if mode == "write" else "BEGIN"))
    return engine


def _configure_writer(connection: DBAPIConnection, _: object) -> None:
    # secure_delete: what is deleted is overwritten with zeros. Debian's SQLite does so by default, others do not.
    _execute(connection, "PRAGMA foreign_keys=ON", "PRAGMA synchronous=FULL", "PRAGMA secure_delete=ON")
    _limit_log(connection.cursor())


def _limit_log(cursor: Any) -> None:
    cursor.execute("PRAGMA page_size")
    [page_bytes] = cursor.fetchone() or [PAGE_BYTES]
    cursor.execute(f"PRAGMA wal_autocheckpoint={LOG_BYTES // page_bytes}").fetchall()
    cursor.close()


def _configure_reader(connection: DBAPIConnection, _: object) -> None:
    _execute(connection, "PRAGMA query_only=ON")


def _execute(connection: DBAPIConnection, *statements: str) -> None:
    cursor = connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.close()


def _switch_to_wal(cursor: Any, *, give_up: bool) -> bool:
    try:
        cursor.execute("PRAGMA journal_mode=WAL").fetchall()
    except sqlite3.OperationalError as error:
        if give_up or "locked" not in str(error):
            raise
        return False
    finally:
        cursor.close()
    return True


def _begin_with(statement: str) -> Callable[[Connection], None]:
    def begin(connection: Connection) -> None:
        # Of the driver's cursor: SQLAlchemy takes several times as long for it. Errors are the driver's own.
        cursor = connection.connection.cursor()
        try:
            cursor.execute(statement)
        finally:
            cursor.close()

    return begin


def _take_write_lock(connection: Connection) -> None:
    # With the id, which tells what became of the transaction if its commit gets no answer: one round trip for both.
    locked = connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITE_LOCK_KEY}), txid_current()").one()
    connection.info[TRANSACTION_ID] = locked[1]


class LostConnectionFilter(logging.Filter):
    """Drops the lines about an error of the connection itself; any other error stays.

    Whoever uses such a connection gets the error, and the health of the store logs the outage once.
    """

    def __init__(self, driver: DBAPIModule) -> None:
        super().__init__()
        self._errors: tuple[type[Exception], ...] = (driver.OperationalError, driver.InterfaceError)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is written."""
        return record.exc_info is None or not isinstance(record.exc_info[1], self._errors)


def silence_lost_connections(driver: DBAPIModule) -> None:
    """Add the filter for the errors of a driver (PEP 249) to the logger of the stores' pools, once."""
    if not any(isinstance(each, LostConnectionFilter) for each in _LOGGER.filters):
        _LOGGER.addFilter(LostConnectionFilter(driver))
