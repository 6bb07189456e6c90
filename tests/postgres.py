"""The PostgreSQL that some tests need: SOPHON_TEST_POSTGRES holds its URL, and `.ci/run` starts one."""

import asyncio
import atexit
import os
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import make_url

from sophon.stores.sql.schema import metadata
from sophon.stores.sql.store_url import resolve_url
from sophon_hosting.store.factory import host_store_from_url
from tests.databases import open_and_close

SERVER = os.environ.get("SOPHON_TEST_POSTGRES", "")
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")


def _database(name: str) -> str:
    return make_url(SERVER).set(database=name).render_as_string(hide_password=False) if SERVER else ""


URL = _database(f"sophon_{WORKER}")
"""Of a database that is this test process's own: `empty` leaves nothing in it."""

MIGRATED = _database(f"sophon_{WORKER}_migrated")
"""Of another one, with the schema of a store in it: `without_rows` leaves nothing but that."""

_COPY = f"sophon_{WORKER}_copy"

needs_postgres = pytest.mark.skipif(not SERVER, reason="SOPHON_TEST_POSTGRES names no PostgreSQL")


def empty() -> None:
    """Have nothing in the database at URL."""
    _make(URL)
    _run(URL, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")


def copy() -> str:
    """Make a copy of the database at URL, to which nobody may be connected; return the URL of the copy."""
    _run(SERVER, f"DROP DATABASE IF EXISTS {_COPY} WITH (FORCE)")
    _run(SERVER, f"CREATE DATABASE {_COPY} TEMPLATE {make_url(URL).database}")
    return _database(_COPY)


def without_rows() -> None:
    """Have the tables of a store in the database at MIGRATED, and no rows in them: the migrations run once."""
    # Not TRUNCATE, which makes a new file of each table and index: five times as dear, where there are few rows.
    _connection().exec_driver_sql(_deletion())


@cache
def _make(url: str) -> None:
    name = make_url(url).database
    _run(SERVER, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")


@cache
def _connection() -> Connection:
    """One to the database at MIGRATED that stays open: the server takes longer to start another than to delete."""
    _make(MIGRATED)
    asyncio.run(open_and_close(host_store_from_url(MIGRATED, folder=Path())))
    connection = create_engine(resolve_url(MIGRATED, Path()), isolation_level="AUTOCOMMIT").connect()
    atexit.register(connection.close)
    return connection


@cache
def _deletion() -> str:
    deletions = [f"DELETE FROM {table.name}" for table in reversed(metadata.sorted_tables)]
    deletions.append("DELETE FROM message_words")  # made by a migration
    sequences = _connection().execute(text("SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'"))
    return "; ".join(deletions + [f"SELECT setval('{name}', 1, false)" for name in sequences.scalars()])


def _run(url: str, *statements: str) -> None:
    engine = create_engine(resolve_url(url, Path()), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for each in statements:
            connection.execute(text(each))
    engine.dispose()
