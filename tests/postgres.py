"""The PostgreSQL that some tests need: SOPHON_TEST_POSTGRES holds its URL, and `.ci/run` starts one."""

import os
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from sophon.stores.sql.location import located

SERVER = os.environ.get("SOPHON_TEST_POSTGRES", "")
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
URL = make_url(SERVER).set(database=f"sophon_{WORKER}").render_as_string(hide_password=False) if SERVER else ""
"""Of the database that is this test process's own."""

needs_postgres = pytest.mark.skipif(not SERVER, reason="SOPHON_TEST_POSTGRES names no PostgreSQL")


def empty() -> None:
    """Have nothing in that database."""
    _made()
    _run(URL, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")


@cache
def _made() -> None:
    name = make_url(URL).database
    _run(SERVER, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")


def _run(url: str, *statements: str) -> None:
    engine = create_engine(located(url, Path()), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for each in statements:
            connection.execute(text(each))
    engine.dispose()
