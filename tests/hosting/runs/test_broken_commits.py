"""The commit of an outcome on PostgreSQL breaks: the outcome and its last events are stored and told once."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from sophon.events import Message, TaskCompleted
from sophon.testing import VirtualClock
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres
from tests.broken_commits import CommitBreaker, breaking_commits
from tests.hosting.runs.test_unavailable_store import LIMITED, ended_later, started, unavailable

pytestmark = postgres.needs_postgres


@pytest.fixture
def store_url() -> str:
    postgres.without_rows()
    return postgres.MIGRATED


@pytest.fixture
async def breaker_and_store(
    store_url: str, tmp_path: Path, clock: VirtualClock
) -> AsyncIterator[tuple[CommitBreaker, SqlHostStore]]:
    async with breaking_commits(store_url) as (breaker, url):
        store = SqlHostStore(url, folder=tmp_path, clock=clock)
        await store.open()
        yield breaker, store
        breaker.is_down = False
        await store.close()


@pytest.fixture
def breaker(breaker_and_store: tuple[CommitBreaker, SqlHostStore]) -> CommitBreaker:
    return breaker_and_store[0]


@pytest.fixture
def store(breaker_and_store: tuple[CommitBreaker, SqlHostStore]) -> SqlHostStore:
    return breaker_and_store[1]


@pytest.mark.parametrize("stays_down", [False, True])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_outcome_whose_commit_breaks_is_stored_and_told_once(
    world, host, store, breaker: CommitBreaker, when: Literal["before", "after"], stays_down: bool
) -> None:
    finish = store.runs.finish

    async def break_first(*arguments, **more):
        store.runs.finish = finish
        breaker.break_next(when, stays_down=stays_down)
        return await finish(*arguments, **more)

    store.runs.finish = break_first
    heard: list[str] = []
    await host.event_bus.subscribe("s", lambda event: heard.append(event.name))
    receipt = await world.send(host, "wait a")
    await world.until(lambda: started(world))
    world.release.set()
    if stays_down:
        await unavailable(store)
        for _ in range(5):
            await world.clock.advance(5)
        assert world.events.of(TaskCompleted) == []
        breaker.is_down = False
    run = await ended_later(world, receipt)
    await host.event_bus.flush("s")
    assert (breaker.broken, run.status, run.starts, world.begun) == (1, "completed", 1, ["a"])
    assert await world.said("s") == ["wait a", "WAIT A"]
    stored = [event.name for event in await store.events.list_after("s", 0)]
    assert stored.count("task_completed") == heard.count("task_completed") == len(world.events.of(TaskCompleted)) == 1
    assert stored.count("message") == heard.count("message") == len(world.events.of(Message)) == 2
    assert sum(total.calls for total in await store.usage.list_totals()) == 1


async def test_a_settlement_whose_commit_breaks_after_it_happened_is_counted_once(
    world, store, breaker: CommitBreaker
) -> None:
    host = world.host(LIMITED)
    await host.start()
    settle = store.usage.settle

    async def break_first(*arguments):
        await host.event_bus.flush("s")  # so that the next commit is the settlement's
        if not breaker.broken:
            breaker.break_next("after")
        return await settle(*arguments)

    store.usage.settle = break_first
    run = await ended_later(world, await world.send(host, "hello"))
    assert (run.status, breaker.broken) == ("completed", 1)
    assert sum(total.calls for total in await store.usage.list_totals()) == 1
