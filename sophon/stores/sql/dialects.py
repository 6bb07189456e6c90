"""All that is not the same in SQLite and PostgreSQL: drivers, how a connection is set up, how a writer begins.

Both give the same promise: a write transaction has the database to itself from its first statement on, whatever other
processes do, so that what is read and then written in it is atomic. SQLite does so by BEGIN IMMEDIATE, PostgreSQL by an
advisory lock that ends with the transaction. Who has to wait longer than `patience_seconds` gets an error.

SQLite 3.24 (2018) or newer will do: systems that are still in use come with 3.26 and 3.34, so nothing here says
RETURNING. WAL, so that readers and the writer do not wait for each other; `synchronous=FULL`, so that a commit has
reached the disk; Python's own transaction control switched off, because it begins too late and too lightly.
"""

import sqlite3
import time
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import DBAPIConnection

READERS = 2
WRITE_LOCK = 5070146863
"""The key of PostgreSQL's advisory lock: an arbitrary number that is always the same."""

DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "sqlite+aiosqlite": "sqlite+pysqlite",
    "sqlite+pysqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+asyncpg": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
"""Schemes as users write them -> the one driver that is used for each database."""

_RETRY_SECONDS = 0.01


def engine_for(url: URL, mode: Literal["read", "write"], patience_seconds: float) -> Engine:
    """An engine for one writer or for `READERS` readers; it connects when it is first used."""
    size = 1 if mode == "write" else READERS
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url, mode, size, patience_seconds)
    engine = create_engine(
        url,
        pool_size=size,
        max_overflow=0,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED" if mode == "write" else "REPEATABLE READ",
        connect_args={"options": f"-c lock_timeout={int(patience_seconds * 1000)}"},
    )
    if mode == "write":
        event.listen(engine, "begin", _take_write_lock)
    return engine


def make_ready(engine: Engine, patience_seconds: float) -> None:
    """What a database needs once, before the first write: SQLite its folder's file in WAL mode."""
    if engine.dialect.name != "sqlite":
        return
    deadline = time.monotonic() + patience_seconds
    connection = engine.raw_connection()
    try:
        # Two processes that switch at once do not wait for each other, whatever the busy timeout: one is refused.
        while not _switch_to_wal(connection.cursor(), give_up=time.monotonic() > deadline):
            time.sleep(_RETRY_SECONDS)
    finally:
        connection.close()


def insert_into(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that knows `on_conflict_do_update` and `on_conflict_do_nothing`, which both spell alike."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


def name_of(url: URL) -> str:
    """The database for a person: the file, or the URL without its password."""
    if url.get_backend_name() == "sqlite":
        return str(Path(url.database or ""))
    return url.render_as_string(hide_password=True)


def _sqlite_engine(url: URL, mode: Literal["read", "write"], size: int, patience_seconds: float) -> Engine:
    engine = create_engine(
        url,
        pool_size=size,
        max_overflow=0,
        # A connection is only ever used by one thread at a time, but it may be closed by another.
        connect_args={"timeout": patience_seconds, "check_same_thread": False, "isolation_level": None},
    )
    event.listen(engine, "connect", _set_up_writer if mode == "write" else _set_up_reader)
    event.listen(engine, "begin", _begin_immediate if mode == "write" else _begin)
    return engine


def _set_up_writer(connection: DBAPIConnection, _: object) -> None:
    _run(connection, "PRAGMA foreign_keys=ON", "PRAGMA synchronous=FULL")


def _set_up_reader(connection: DBAPIConnection, _: object) -> None:
    _run(connection, "PRAGMA query_only=ON")


def _run(connection: DBAPIConnection, *statements: str) -> None:
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


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _take_write_lock(connection: Connection) -> None:
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITE_LOCK})")
