"""Verification of a log in a database that somebody has changed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import SQLITE, copy_database
from tests.sophon.stores.audit.test_contract import append


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy_database(tmp_path)
    return tmp_path


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[SqlHostStore]:
    store = SqlHostStore(SQLITE, folder=folder)
    await store.open()
    await append(store, 4)
    yield store
    await store.close()


def change(folder: Path, statement: str) -> None:
    [file] = folder.rglob("*.db")
    engine = create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        assert connection.execute(text(statement)).rowcount
    engine.dispose()


@pytest.mark.parametrize(
    ("statement", "broken", "problem"),
    [
        ("UPDATE audit SET outcome = 'completed!' WHERE number = 2", 2, "the entry 2 was changed"),
        ("UPDATE audit SET at = '2026-01-01 00:00:00.000000' WHERE number = 3", 3, "the entry 3 was changed"),
        ('UPDATE audit SET texts = \'{"input":"other"}\' WHERE number = 3', 3, "the entry 3 was changed"),
        ("UPDATE audit SET texts = NULL WHERE number = 3", 3, "the entry 3 was changed"),
        ("DELETE FROM audit WHERE number = 2", 2, "the entry 2 is missing; 3 follows"),
        ("DELETE FROM audit WHERE number <= 2", 1, "the entry 1 is missing; 3 follows"),
        ("DELETE FROM audit WHERE number = 4", 4, "the entry 4 is missing: the chain ends at 4"),
        ("DELETE FROM audit", 1, "the entry 1 is missing: the chain ends at 4"),
        ("UPDATE audit_chain SET last_hash = 'x'", 4, "the entry 4 is not the one that was appended"),
    ],
)
async def test_the_first_broken_entry_is_named(
    store: SqlHostStore, tmp_path: Path, statement: str, broken: int, problem: str
) -> None:
    change(tmp_path, statement)
    found = await store.audit.verify()
    assert (found.broken, found.problem) == (broken, problem)


async def test_an_unchanged_log_is_intact(store: SqlHostStore) -> None:
    assert (await store.audit.verify()).broken is None
