"""The databases that a whole host runs on: a file of SQLite, and PostgreSQL, each without rows."""

from pathlib import Path

import pytest

from tests import postgres
from tests.databases import SQLITE, copy_database


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=postgres.needs_postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        copy_database(tmp_path)
        return SQLITE
    postgres.without_rows()
    return postgres.MIGRATED
