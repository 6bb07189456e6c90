"""A store whose database refuses to be written, as on a disk that turned read-only, until it is allowed again."""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakKeyDictionary

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from sophon.errors import StoreUnavailable
from sophon_hosting.store.sql_host_store import SqlHostStore

_REFUSING: WeakKeyDictionary[SqlHostStore, sqlite3.Connection] = WeakKeyDictionary()
"""The writer's connection of each store that refuses: no statement can be sent to it through the writer."""


async def refuse_writes(store: SqlHostStore) -> None:
    """Let every later write of the store fail; the store does not know it yet."""

    def refuse(connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        _REFUSING[store] = driver
        driver.execute("PRAGMA query_only=1")

    with suppress(sqlite3.OperationalError, OperationalError):  # other work of the same transaction was refused
        await _execute(store, refuse)


def allow_writes(store: SqlHostStore) -> None:
    """Let later writes succeed; the store finds out by itself."""
    if store in _REFUSING:
        _REFUSING.pop(store).execute("PRAGMA query_only=0")


async def limit_pages(store: SqlHostStore, more: int) -> None:
    """Let the database grow by so many pages, as on a disk that is nearly full."""

    def limit(connection: Connection) -> None:
        count = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={count + more}")

    await _execute(store, limit)


async def notice(store: SqlHostStore) -> None:
    """Let the store find out that it cannot be written."""
    try:
        await store.maintenance.probe()
    except StoreUnavailable:
        return
    raise AssertionError("the write was expected to fail")


async def _execute(store: SqlHostStore, work: Callable[[Connection], object]) -> None:
    writer = store._database._writer  # past the health of the store, which a test looks at
    assert writer is not None
    await writer.submit(work)
