"""A process that stops within a write transaction on PostgreSQL: the others write, and it goes on when it wakes."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from sophon.errors import StoreUnavailable
from sophon.stores.sql import dialects
from sophon.stores.sql.database import Database, ThreadedDatabase
from sophon.stores.sql.store_url import resolve_url
from sophon_hosting.store.sql_host_store import LOCK_TIMEOUT_SECONDS
from tests import postgres

pytestmark = postgres.needs_postgres

PATIENCE_SECONDS = 3.0


@pytest.fixture
async def databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Database, Database]]:
    monkeypatch.setattr(dialects, "IDLE_TRANSACTION_SECONDS", 0.5)
    await asyncio.to_thread(postgres.without_rows)
    url = resolve_url(postgres.MIGRATED, tmp_path)
    one, other = (ThreadedDatabase(url, PATIENCE_SECONDS, lambda _: None) for _ in range(2))
    await one.open()
    await other.open()
    yield one, other
    await one.close()
    await other.close()


def ping(connection: Connection) -> int:
    return connection.execute(text("SELECT 1")).scalar_one()


@pytest.mark.parametrize("then", ["commit", "statement"])
async def test_others_write_while_one_is_stopped_in_its_transaction(
    databases: tuple[Database, Database], then: str
) -> None:
    one, other = databases
    has_lock, wakes = threading.Event(), threading.Event()

    def stop(connection: Connection) -> None:
        has_lock.set()
        wakes.wait(30)
        if then == "statement":
            ping(connection)

    stopped = asyncio.ensure_future(one.write(stop))
    try:
        assert await asyncio.to_thread(has_lock.wait, 30)
        assert await other.write(ping) == 1
    finally:
        wakes.set()
    with pytest.raises(StoreUnavailable):
        await stopped
    assert await one.write(ping) == 1
    assert await one.read(ping) == 1


async def test_a_reader_that_was_stopped_in_its_snapshot_reads_again(databases: tuple[Database, Database]) -> None:
    one, other = databases
    has_snapshot, wakes = threading.Event(), threading.Event()
    ended = text(
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()"
    )

    def stop(connection: Connection) -> int:
        ping(connection)
        has_snapshot.set()
        wakes.wait(30)
        return ping(connection)

    stopped = asyncio.ensure_future(one.read(stop))
    try:
        assert await asyncio.to_thread(has_snapshot.wait, 30)
        async with asyncio.timeout(30):
            while await other.write(lambda connection: connection.execute(ended).scalar_one()):
                await asyncio.sleep(0.02)
    finally:
        wakes.set()
    with pytest.raises(StoreUnavailable):
        await stopped
    assert await one.read(ping) == 1


def test_who_waits_for_the_lock_waits_longer_than_a_stopped_process_can_keep_it() -> None:
    assert dialects.IDLE_TRANSACTION_SECONDS < LOCK_TIMEOUT_SECONDS
