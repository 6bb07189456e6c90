"""Several hosts over one store, one queue with leases and one fan-out, on a clock that stands still until it is moved.

A host that is cut off reaches neither the queue nor the others, as one that hangs does; a killed one does nothing more.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sophon.stores.contract import Store
from sophon.testing import VirtualClock
from sophon_hosting.fanout.local_fanout import LocalFanout, LocalNetwork
from sophon_hosting.host import Host
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.store.factory import host_store_from_url
from tests.hosting.runs.conftest import PATIENCE_SECONDS, World
from tests.shared_memory_queue import SharedMemoryBroker, SharedMemoryQueue

LEASE_SECONDS = 30.0
STEP_SECONDS = 0.5


@dataclass
class Group(World):
    """A world with several hosts."""

    broker: SharedMemoryBroker = field(init=False)
    network: LocalNetwork = field(default_factory=LocalNetwork)

    def __post_init__(self) -> None:
        self.broker = SharedMemoryBroker(self.clock, lease_seconds=LEASE_SECONDS, max_deliveries=3)

    async def join(self, settings: dict[str, Any] | None = None, *, queue: TaskQueue | None = None) -> Host:
        """Start one more host."""
        queue = queue or SharedMemoryQueue(self.broker)
        host = self.host(settings, queue=queue, fanout=LocalFanout(self.network))
        await host.start()
        return host

    def cut_off(self, host: Host, is_cut_off: bool = True) -> None:
        assert isinstance(host.queue, SharedMemoryQueue)
        host.queue.is_cut_off = is_cut_off
        self.broker.wake()

    async def kill(self, host: Host) -> None:
        """End a host without a word to the queue; its turns write nothing more."""
        self.cut_off(host)
        await host.fanout.close()
        for active_run in host.active_runs:
            active_run.has_lost_lease = True
        await host.shutdown(grace_seconds=0)
        self.hosts.remove(host)

    async def later(self, found: Callable[[], Awaitable[bool]]) -> None:
        """Let time go on until something is so."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await found():
                await self.clock.advance(STEP_SECONDS)
                await asyncio.sleep(0)

    async def pass_time(self, seconds: float) -> None:
        """Let time go on in small steps, as it does."""
        for _ in range(int(seconds / STEP_SECONDS)):
            await self.clock.advance(STEP_SECONDS)

    async def ended_later(self, receipt) -> Any:
        """Let time go on until a run has its outcome, and nobody works on it any more."""

        async def is_over() -> bool:
            return (await self.run(receipt)).is_finished

        await self.later(is_over)
        return await self.ended(receipt)

    async def begun_by(self, host: Host, count: int = 1) -> None:
        """Wait until a host runs so many turns whose model was asked."""

        async def has_begun() -> bool:
            return host.running_turns == count and len(self.begun) >= count

        await self.until(has_begun)

    async def names(self, session_id: str) -> list[str]:
        """Names of the stored events of a session."""
        return [event.name for event in await self.store.events.list_after(session_id, 0)]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
async def group(clock: VirtualClock, tmp_path: Path) -> AsyncIterator[Group]:
    store: Store = host_store_from_url("memory://", folder=tmp_path, clock=clock)
    await store.open()
    group = Group(store, clock)
    yield group
    group.release.set()
    group.broker.set_away(False)
    for host in group.hosts:
        group.cut_off(host, False)
        await host.shutdown(grace_seconds=0)
    group.broker.close()
    await store.close()
