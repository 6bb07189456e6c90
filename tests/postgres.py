"""The PostgreSQL that some tests need: SOPHON_TEST_POSTGRES holds its URL, and `.ci/run` starts one."""

import asyncio
import os
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from sophon.stores.factory import store_from_url
from sophon.stores.sql.schema import metadata
from sophon.stores.sql.url import resolve_url
from tests.databases import open_and_close

SERVER = os.environ.get("SOPHON_TEST_POSTGRES", "")
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")


def _database(name: str) -> str:
    return make_url(SERVER).set(database=name).render_as_string(hide_password=False) if SERVER else ""


URL = _database(f"sophon_{WORKER}")
"""Of a database that is this test process's own: `empty` leaves nothing in it."""

MIGRATED = _database(f"sophon_{WORKER}_migrated")
"""Of another one, with the schema of a store in it: `without_rows` leaves nothing but that."""

needs_postgres = pytest.mark.skipif(not SERVER, reason="SOPHON_TEST_POSTGRES names no PostgreSQL")


def empty() -> None:
    """Have nothing in the database at URL."""
    _make(URL)
    _run(URL, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")


def without_rows() -> None:
    """Have the tables of a store in the database at MIGRATED, and no rows in them: the migrations run once."""
    _run(MIGRATED, f"TRUNCATE {_tables()} RESTART IDENTITY CASCADE")


@cache
def _make(url: str) -> None:
    name = make_url(url).database
    _run(SERVER, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")


@cache
def _tables() -> str:
    _make(MIGRATED)
    asyncio.run(open_and_close(store_from_url(MIGRATED, folder=Path())))
    return ", ".join(table.name for table in metadata.sorted_tables)


def _run(url: str, *statements: str) -> None:
    engine = create_engine(resolve_url(url, Path()), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for each in statements:
            connection.execute(text(each))
    engine.dispose()
