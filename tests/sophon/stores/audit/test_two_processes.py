"""Two stores over one database, as of two processes: their entries stand in one chain."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres
from tests.databases import SQLITE, copy_database
from tests.sophon.stores.audit.test_contract import event

APPENDS = 40


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=postgres.needs_postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        copy_database(tmp_path)
        return SQLITE
    postgres.without_rows()
    return postgres.MIGRATED


@pytest.fixture
async def stores(url: str, tmp_path: Path) -> AsyncIterator[list[SqlHostStore]]:
    stores = [SqlHostStore(url, folder=tmp_path) for _ in range(2)]
    for store in stores:
        await store.open()
    yield stores
    for store in stores:
        await store.close()


async def test_appends_of_two_processes_never_fork_the_chain(stores: list[SqlHostStore]) -> None:
    async def append(store: SqlHostStore) -> None:
        for number in range(APPENDS):
            await store.audit.append([event(number), event(number)])

    await asyncio.gather(*map(append, stores))
    found = await stores[0].audit.verify()
    assert (found.count, found.broken) == (4 * APPENDS, None)
