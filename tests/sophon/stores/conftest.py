"""The stores that the contract suite runs over; a PostgreSQL joins where there is one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon.stores.contract import Store
from sophon.stores.factory import store_from_url
from sophon.testing import VirtualClock
from tests import postgres
from tests.databases import SQLITE, copy_database

URLS = {"memory": "memory://", "sqlite": SQLITE, "postgres": postgres.MIGRATED}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=postgres.needs_postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        postgres.without_rows()
    if request.param == "sqlite":
        copy_database(tmp_path)
    return URLS[request.param]


@pytest.fixture
async def store(store_url: str, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[Store]:
    store = store_from_url(store_url, folder=tmp_path, clock=clock)
    await store.open()
    yield store
    await store.close()
