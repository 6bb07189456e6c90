"""Event buses of several processes on one store, linked by a local fan-out."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sophon.clock import SystemClock
from sophon.events import Event, Progress, StreamChunk, TaskCompleted, TaskQueued
from sophon.messages import Usage
from sophon.stores.contract import Store
from sophon.testing import EventRecorder
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.fanout.local_fanout import LocalFanout, LocalNetwork
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres

WAIT_SECONDS = 20.0


def of(event: Event, task: str = "t", session: str = "s") -> Event:
    event.session_id, event.task_id, event.run_id = session, task, task
    return event


def progress(number: int, **whose: str) -> Event:
    return of(Progress(iteration=number, tool_calls=0, usage=Usage()), **whose)


def chunk(text: str, epoch: int = 1, **whose: str) -> Event:
    return of(StreamChunk(epoch=epoch, text=text), **whose)


def queued(**whose: str) -> Event:
    return of(TaskQueued(position=1), **whose)


def completed(text: str, **whose: str) -> Event:
    return of(TaskCompleted(text=text, finish_reason="stop", usage=Usage(), duration_ms=1), **whose)


async def until(is_true: Callable[[], Any]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not is_true():
            await asyncio.sleep(0.005)


class Client:
    """Joins sessions, and notes what it receives."""

    def __init__(self, bus: EventBus) -> None:
        self.bus = bus
        self.received: list[WireEvent] = []

    def __call__(self, event: WireEvent) -> None:
        self.received.append(event)

    async def join(self, last_seq: int = 0, session: str = "s") -> "Client":
        joined = await self.bus.join_session(session, last_seq, self)
        self.received += joined.events
        return self

    @property
    def seqs(self) -> list[int]:
        return [each.seq for each in self.received if each.seq is not None]

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.received]

    @property
    def text(self) -> str:
        """The reply as a client shows it; an offset that does not continue it is an error of the host."""
        text, epoch = "", None
        for each in self.received:
            if each.name == "stream_reset" or (each.name == "stream_chunk" and each.data["epoch"] != epoch):
                text, epoch = "", each.data["epoch"]
            if each.name == "stream_chunk":
                assert each.data["offset"] == len(text), "a gap or a repetition"
                text += each.data["text"]
            elif each.name == "task_completed":
                text = each.data["text"]
        return text

    async def until_seq(self, seq: int) -> list[int]:
        await until(lambda: self.seqs and self.seqs[-1] >= seq)
        return self.seqs

    async def until_text(self, text: str) -> None:
        await until(lambda: self.text == text)


class Process:
    """A host process as far as events go."""

    def __init__(self, store: Store, network: LocalNetwork) -> None:
        self.sink = EventRecorder()
        self.starts: dict[str, int] = {}
        self.fanout = LocalFanout(network)
        self.bus = EventBus(
            store.events,
            store.runs,
            SystemClock(),
            self.sink,
            fanout=self.fanout,
            find_start=lambda task: self.starts.get(task, 1),
        )

    async def emit(self, *events: Event) -> None:
        for event in events:
            self.bus.emit(event)
        await self.bus.flush(events[0].session_id)

    async def client(self, last_seq: int = 0) -> Client:
        return await Client(self.bus).join(last_seq)


class Deployment:
    """A store, and the processes that use it; with `open_store`, each has connections of its own to it."""

    def __init__(self, store: Store, open_store: Callable[[], Awaitable[Store]] | None = None) -> None:
        self.store, self._open_store = store, open_store
        self._opened: list[Store] = []
        self.network = LocalNetwork()
        self.processes: list[Process] = []

    async def start(self) -> Process:
        store = self.store
        if self._open_store is not None:
            store = await self._open_store()
            self._opened.append(store)
        process = Process(store, self.network)
        self.processes.append(process)
        await process.fanout.open()
        process.bus.start()
        return process

    async def close(self) -> None:
        for process in self.processes:
            await process.bus.aclose()
            await process.fanout.close()
        for store in self._opened:
            await store.close()


@pytest.fixture
async def deployment() -> AsyncIterator[Deployment]:
    store = SqlHostStore("memory://", clock=SystemClock())
    await store.sessions.get_or_create("s", "ada")
    deployment = Deployment(store)
    yield deployment
    await deployment.close()


@pytest.fixture
def database() -> None:
    postgres.without_rows()


@pytest.fixture
async def postgres_deployment(database: None, tmp_path: Path) -> AsyncIterator[Deployment]:
    async def open_store() -> Store:
        store = host_store_from_url(postgres.MIGRATED, folder=tmp_path)
        await store.open()
        return store

    store = await open_store()
    await store.sessions.get_or_create("s", "ada")
    deployment = Deployment(store, open_store)
    yield deployment
    await deployment.close()
    await store.close()
