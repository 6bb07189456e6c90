"""A feed over each store, and listeners that note what they hear."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon.stores.contract import Store
from sophon.testing import EventRecorder, VirtualClock
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.store.factory import host_store_from_url
from tests.databases import SQLITE, copy_database

URLS = {"memory": "memory://", "sqlite": SQLITE}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture(params=URLS)
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        copy_database(tmp_path)
    return URLS[request.param]


@pytest.fixture
async def store(store_url: str, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[Store]:
    store = host_store_from_url(store_url, folder=tmp_path, clock=clock)
    await store.open()
    await store.sessions.get_or_create("s", "ada")
    await store.sessions.get_or_create("other", "bob")
    yield store
    await store.close()


@pytest.fixture
def recorder() -> EventRecorder:
    return EventRecorder()


@pytest.fixture
async def feed(store: Store, clock: VirtualClock, recorder: EventRecorder) -> AsyncIterator[EventBus]:
    feed = EventBus(store.events, store.runs, clock, recorder)
    yield feed
    await feed.aclose()


class Ear:
    """Notes what it hears."""

    def __init__(self) -> None:
        self.frames: list[WireEvent] = []

    def __call__(self, frame: WireEvent) -> None:
        self.frames.append(frame)

    @property
    def names(self) -> list[str]:
        return [frame.name for frame in self.frames]

    @property
    def seqs(self) -> list[int]:
        return [frame.seq for frame in self.frames if frame.seq is not None]


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def make_ear() -> type[Ear]:
    return Ear
