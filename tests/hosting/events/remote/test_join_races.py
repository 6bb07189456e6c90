"""Joining a session while another process stores in it: each event once, in order, before and after the snapshot."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from sophon.clock import SystemClock
from sophon.stores.contract import Store
from sophon.testing import EventRecorder
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.missed_events import MAX_MISSED_EVENTS
from sophon_hosting.fanout.contract import SessionAdvanced
from sophon_hosting.fanout.local_fanout import LocalFanout
from sophon_hosting.store.events.sql import EventLog
from sophon_hosting.store.factory import host_store_from_url
from tests import postgres
from tests.databases import SQLITE, copy_database
from tests.hosting.events.remote.conftest import (
    Client,
    Deployment,
    Process,
    chunk,
    completed,
    progress,
    queued,
    until,
)
from tests.postgres import needs_postgres

Read = Callable[[], Awaitable[Any]]


class InterruptedLog:
    """An event log in whose reads another process stores: at each number of a read in `before` or `after`."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.before: dict[int, Read] = {}
        self.after: dict[int, Read] = {}
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def find_positions(self, session_ids: Any) -> Any:
        return await self._read(lambda: self._log.find_positions(session_ids))

    async def last_seq(self, session_id: str) -> int:
        return await self._read(lambda: self._log.last_seq(session_id))

    async def list_after(self, session_id: str, seq: int, limit: int = 1000) -> Any:
        return await self._read(lambda: self._log.list_after(session_id, seq, limit))

    async def _read(self, read: Read) -> Any:
        self.reads += 1
        number = self.reads
        await self.before.pop(number, _nothing)()
        result = await read()
        await self.after.pop(number, _nothing)()
        return result


async def _nothing() -> None: ...


class Joining(Process):
    """A process whose reads of the event log can be interrupted."""

    def __init__(self, store: Store, deployment: Deployment) -> None:
        super().__init__(store, deployment.network)
        self.log = InterruptedLog(store.events)
        self.fanout = LocalFanout(deployment.network)
        self.bus = EventBus(
            cast(EventLog, self.log),
            store.runs,
            SystemClock(),
            EventRecorder(),
            fanout=self.fanout,
            find_start=lambda task: self.starts.get(task, 1),
        )
        deployment.processes.append(self)


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgresql", marks=needs_postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        copy_database(tmp_path)
    if request.param == "postgresql":
        postgres.without_rows()
    return {"memory": "memory://", "sqlite": SQLITE, "postgresql": postgres.MIGRATED}[request.param]


@pytest.fixture
async def hosts(url: str, tmp_path: Path) -> AsyncIterator[Deployment]:
    store = host_store_from_url(url, folder=tmp_path, clock=SystemClock())
    await store.open()
    await store.sessions.get_or_create("s", "ada")
    deployment = Deployment(store)
    yield deployment
    await deployment.close()
    await store.close()


async def joining(deployment: Deployment) -> Joining:
    process = Joining(deployment.store, deployment)
    await process.fanout.open()
    process.bus.start()
    return process


READS = 4
"""More reads than a join makes."""

HINTS = ("at once", "later", "lost")


@pytest.mark.parametrize("others_listen", [False, True], ids=["alone", "beside others"])
@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("moment", range(2 * READS))
async def test_who_joins_while_another_host_stores_gets_each_event_once(
    hosts: Deployment, moment: int, hint: str, others_listen: bool
) -> None:
    there, here = await hosts.start(), await joining(hosts)
    await there.emit(progress(1), progress(2))
    other = await here.client() if others_listen else None
    here.log.reads = 0

    async def store_elsewhere() -> None:
        hosts.network.is_cut = hint != "at once"
        await there.emit(progress(3), progress(4))
        hosts.network.is_cut = False

    # The moments of a join: before its first read, after it, before the second, and so on.
    at, number = (here.log.after if moment % 2 else here.log.before), 1 + moment // 2
    at[number] = store_elsewhere
    client = Client(here.bus)
    joined = await here.bus.join_session("s", 1, client)
    client.received[:0] = joined.events
    assert joined.seq == joined.events[-1].seq
    await at.pop(number, _nothing)()  # after the join, if it makes fewer reads
    if hint == "later":
        there.fanout.publish(SessionAdvanced("s", 4, 2))
    await there.emit(progress(5))
    assert await client.until_seq(5) == [2, 3, 4, 5]
    if other is not None:
        assert await other.until_seq(5) == [1, 2, 3, 4, 5]


async def test_two_clients_that_join_at_once_get_the_same_events(hosts: Deployment) -> None:
    there, here = await hosts.start(), await joining(hosts)
    await there.emit(progress(1))

    async def store_elsewhere() -> None:
        await there.emit(progress(2))

    here.log.after = {1: store_elsewhere}
    clients = await asyncio.gather(Client(here.bus).join(), Client(here.bus).join(), Client(here.bus).join(last_seq=1))
    await clients[0].join(last_seq=2)  # again: one subscription
    await there.emit(progress(3))
    assert [await each.until_seq(3) for each in clients] == [[1, 2, 3], [1, 2, 3], [2, 3]]


async def test_more_than_a_replay_holds_is_stored_during_the_join(hosts: Deployment) -> None:
    there, here = await hosts.start(), await joining(hosts)
    await there.emit(progress(1))

    async def store_elsewhere() -> None:
        await there.emit(*[progress(number) for number in range(MAX_MISSED_EVENTS + 5)])

    here.log.after = {1: store_elsewhere}
    client = await here.client()
    assert await client.until_seq(MAX_MISSED_EVENTS + 6) == list(range(1, MAX_MISSED_EVENTS + 7))


async def test_a_reply_that_ends_during_the_join_is_not_shown_as_being_streamed(hosts: Deployment) -> None:
    there, here = await hosts.start(), await joining(hosts)
    other = await here.client()
    await there.emit(queued())
    there.bus.emit(chunk("to be continued"))
    await until(lambda: "stream_chunk" in other.names)

    async def complete_elsewhere() -> None:
        await there.emit(completed("the end"))

    here.log.reads = 0
    here.log.before[1] = complete_elsewhere
    client = await here.client()
    assert client.names == ["task_queued", "task_completed"]
