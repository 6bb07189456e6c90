"""The stores that the contract suite runs over; a PostgreSQL joins when SOPHON_TEST_POSTGRES holds its URL.

That database is emptied by every test.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon.stores.contracts import Store
from sophon.stores.opening import store_from_url
from sophon.testing import VirtualClock

POSTGRES = os.environ.get("SOPHON_TEST_POSTGRES", "")
URLS = {"memory": "memory://", "sqlite": "sqlite:///data/sophon.db", "postgres": POSTGRES}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture(params=[name for name, url in URLS.items() if url])
def store_url(request: pytest.FixtureRequest) -> str:
    if request.param == "postgres":
        empty(POSTGRES)
    return URLS[request.param]


@pytest.fixture
async def store(store_url: str, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[Store]:
    store = store_from_url(store_url, folder=tmp_path, clock=clock)
    await store.open()
    yield store
    await store.close()


def empty(url: str) -> None:
    from sqlalchemy import create_engine, text

    from sophon.stores.sql.location import located

    engine = create_engine(located(url, Path()))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
