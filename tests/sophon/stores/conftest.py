"""The stores that the contract suite runs over; a PostgreSQL joins where there is one."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from sophon.stores.contract import Store
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.sql.database import Database
from sophon.testing import VirtualClock
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres
from tests.databases import SQLITE, copy_database, replace_content

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
        metafunc.parametrize("kind_of_store", ["memory", *SQL] if is_chain else SQL, scope="module")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture(scope="module")
def store_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the SQLite database of the tests of a file."""
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="module")
def database(kind_of_store: str, store_folder: Path) -> Iterator[Database | None]:
    """The database of the tests of a file, whose connections and threads stay; None for the dictionaries.

    To open one takes longer than most tests of a store.
    """
    if kind_of_store == "memory":
        yield None
        return
    if kind_of_store == "sqlite":
        copy_database(store_folder)
    else:
        postgres.without_rows()  # makes it
    store = host_store_from_url(URLS[kind_of_store], folder=store_folder, clock=VirtualClock(auto=False))
    assert isinstance(store, SqlHostStore)
    yield store._database
    asyncio.run(store.close())


@pytest.fixture
def store_url(kind_of_store: str, database: Database | None) -> str:
    """The URL of a database with the schema and no rows; "" for the dictionaries."""
    if database is not None and database.file is not None:
        replace_content(database.file)
    elif database is not None:
        postgres.without_rows()
    return URLS[kind_of_store]


@pytest.fixture
async def store(store_url: str, store_folder: Path, database: Database | None, clock: VirtualClock) -> Store:
    """A store that nobody has used, and which is open."""
    if database is None:
        return InMemoryStore(clock=clock)
    database.fence = None
    store = SqlHostStore(store_url, folder=store_folder, clock=clock, database=database)
    await store.open()
    return store


@pytest.fixture
def host_store(store: Store) -> Store:
    """The store of a test that needs what only hosts store, beside an aggregate of which there are dictionaries."""
    return store
