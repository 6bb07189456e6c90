"""The stores that the contract suite runs over; a PostgreSQL joins where there is one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon.stores.contract import Store
from sophon.stores.in_memory_store import InMemoryStore
from sophon.testing import VirtualClock
from sophon_hosting.store.factory import host_store_from_url
from tests import postgres
from tests.databases import SQLITE, copy_database

SQL = ["sqlite", pytest.param("postgres", marks=postgres.needs_postgres)]

URLS = {"memory": "", "sqlite": SQLITE, "postgres": postgres.MIGRATED}

DICTIONARIES = {
    *(
        "data_labels",
        "grants",
        "memories",
        "preferences",
        "rate_windows",
        "sessions",
        "tool_call_journal",
        "usage",
        "vectors",
    ),
}
"""Folders of the aggregates that an `InMemoryStore` has an implementation of its own of."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test over both databases, those of the aggregates of a chain over the dictionaries, too."""
    if "kind_of_store" in metafunc.fixturenames:
        is_chain = metafunc.definition.path.parent.name in DICTIONARIES and "host_store" not in metafunc.fixturenames
        metafunc.parametrize("kind_of_store", ["memory", *SQL] if is_chain else SQL)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
def store_url(kind_of_store: str, tmp_path: Path) -> str:
    """The URL of a database with the schema and no rows; "" for the dictionaries."""
    if kind_of_store == "postgres":
        postgres.without_rows()
    if kind_of_store == "sqlite":
        copy_database(tmp_path)
    return URLS[kind_of_store]


@pytest.fixture
async def store(store_url: str, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[Store]:
    store = host_store_from_url(store_url, folder=tmp_path, clock=clock) if store_url else InMemoryStore(clock=clock)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
def host_store(store: Store) -> Store:
    """The store of a test that needs what only hosts store, beside an aggregate of which there are dictionaries."""
    return store
