"""A commit on PostgreSQL whose connection breaks: the caller learns what became of it; nothing is written twice."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon.errors import StoreUnavailable
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres
from tests.broken_commits import CommitBreaker, breaking_commits

pytestmark = postgres.needs_postgres


@pytest.fixture
async def breaker_and_store(tmp_path: Path) -> AsyncIterator[tuple[CommitBreaker, SqlHostStore]]:
    await asyncio.to_thread(postgres.empty)
    async with breaking_commits(postgres.URL) as (breaker, url):
        store = SqlHostStore(url, folder=tmp_path)
        await store.open()
        await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "hello"))])
        yield breaker, store
        breaker.is_down = False
        await store.close()


def queued(name: str = "task_queued") -> LoggedEvent:
    return LoggedEvent(name, {}, "t")


async def test_a_commit_that_happened_although_its_connection_broke_is_a_success(breaker_and_store) -> None:
    breaker, store = breaker_and_store
    breaker.break_next("after")
    assert await store.events.append("s", [queued()]) == 1
    assert (breaker.broken, await store.events.last_seq("s")) == (1, 1)
    assert store.health.is_available


async def test_a_commit_that_did_not_happen_is_an_error_and_may_be_repeated(breaker_and_store) -> None:
    breaker, store = breaker_and_store
    breaker.break_next("before")
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await store.events.append("s", [queued()])
    assert (breaker.broken, await store.events.last_seq("s")) == (1, 0)
    assert await store.events.append("s", [queued()]) == 1


async def test_a_write_in_doubt_waits_until_the_server_can_be_asked_while_others_fail(breaker_and_store) -> None:
    breaker, store = breaker_and_store
    breaker.break_next("after", stays_down=True)
    doubtful = asyncio.ensure_future(store.events.append("s", [queued()]))
    async with asyncio.timeout(30):
        while store.health.is_available:
            await asyncio.sleep(0.01)
        with pytest.raises(StoreUnavailable):
            await store.events.append("s", [queued()])
        assert not doubtful.done()
        breaker.is_down = False
        assert await doubtful == 1
    assert store.health.is_available
    assert len(await store.events.list_after("s", 0)) == 1


async def test_closing_the_store_does_not_wait_for_a_write_in_doubt(breaker_and_store) -> None:
    breaker, store = breaker_and_store
    breaker.break_next("after", stays_down=True)
    doubtful = asyncio.ensure_future(store.events.append("s", [queued()]))
    async with asyncio.timeout(30):
        while store.health.is_available:
            await asyncio.sleep(0.01)
        await store.close()
    with pytest.raises(StoreUnavailable):
        await doubtful
