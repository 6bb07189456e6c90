"""PostgreSQL stops and starts again while a host works: nothing is lost, and nothing happens twice."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from sophon.errors import StoreUnavailable
from sophon.events import TaskCompleted, TaskFailed
from sophon.testing import VirtualClock
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.runs.test_unavailable_store import ended_later, started, unavailable
from tests.postgres_cluster import Cluster, find_programs, running_cluster


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    programs = find_programs()
    if programs is None:
        missing = "needs the programs of PostgreSQL"
        pytest.fail(missing) if os.environ.get("SOPHON_CI") else pytest.skip(missing)
    with running_cluster(programs) as cluster:
        yield cluster


@pytest.fixture
def store_url(cluster: Cluster) -> str:
    return cluster.url


@pytest.fixture
async def store(store_url: str, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[SqlHostStore]:
    store = SqlHostStore(store_url, folder=tmp_path, clock=clock)
    await store.open()
    yield store
    await store.close()


async def test_a_server_that_stops_in_mid_run_costs_no_reply_and_no_message(world, host, store, cluster) -> None:
    receipt = await world.send(host, "Stall here")
    await world.until(lambda: started(world))
    await asyncio.to_thread(cluster.stop)
    world.release.set()
    await unavailable(store)
    assert store.health.kind == "unreachable"
    with pytest.raises(StoreUnavailable, match="the database server cannot be reached"):
        await world.send(host, "hello", "t")
    for _ in range(5):
        await world.clock.advance(5)
    await asyncio.to_thread(cluster.start)
    run = await ended_later(world, receipt)
    assert (run.status, run.starts, world.begun) == ("completed", 1, ["here"])
    later = await ended_later(world, await world.send(host, "hello", "t"))
    assert later.status == "completed"
    assert (len(world.events.of(TaskCompleted)), world.events.of(TaskFailed)) == (2, [])
    stored = [event.name for event in await store.events.list_after("s", 0)]
    assert (stored.count("task_completed"), stored.count("task_queued")) == (1, 1)


async def test_connections_that_the_server_ends_are_replaced(world, host, store, cluster) -> None:
    receipt = await world.send(host, "wait a")
    await world.until(lambda: started(world))
    await asyncio.to_thread(cluster.stop)
    await asyncio.to_thread(cluster.start)
    world.release.set()
    run = await ended_later(world, receipt)
    assert (run.status, run.starts, world.begun) == ("completed", 1, ["a"])
