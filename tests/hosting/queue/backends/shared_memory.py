"""The broker in memory that the tests of several hosts use: it is a queue as every other one."""

import asyncio
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime

from sophon.clock import SystemClock
from sophon_hosting.queue.contract import TaskQueue
from tests.hosting.queue.backends.backend import PATIENCE_SECONDS, Backend, Options, OwnServer, T
from tests.shared_memory_queue import SharedMemoryBroker, SharedMemoryQueue


class _Server:
    """The broker of the queue `own` as a server."""

    url = ""

    def __init__(self, brokers: dict[str, SharedMemoryBroker]) -> None:
        self._brokers = brokers

    def start(self) -> None:
        """Let it be reached again."""
        self._brokers["own"].set_away(False)

    def stop(self) -> None:
        """Let it go away, and lose its memory."""
        self._brokers["own"].set_away(True)
        self._brokers["own"].flush()


class SharedMemoryBackend(Backend):
    """Hosts of one process that share a `SharedMemoryBroker`, in real time."""

    name = "shared_memory"

    def __init__(self) -> None:
        self._brokers: dict[str, SharedMemoryBroker] = {}

    def build(self, name: str, options: Options) -> TaskQueue:
        """Build a view of the broker of that name."""
        if name not in self._brokers:
            self._brokers[name] = SharedMemoryBroker(
                SystemClock(),
                capacity=options.capacity,
                max_deliveries=options.max_deliveries,
                owner_share=options.owner_share,
                lease_seconds=options.lease_seconds,
            )
        return SharedMemoryQueue(self._brokers[name])

    async def remove(self, name: str) -> None:
        """End its leases."""
        if (broker := self._brokers.pop(name, None)) is not None:  # None: its options were refused
            broker.close()

    @contextmanager
    def run_own_server(self) -> Generator[OwnServer]:
        """Run the broker of the queue that the tests of servers make."""
        yield _Server(self._brokers)

    async def step(self, queue: TaskQueue) -> None:
        """Let other tasks run once."""
        await asyncio.sleep(0)

    async def settle(self, *queues: TaskQueue) -> None:
        """Let other tasks run until none has anything to do."""
        for _ in range(100):
            await asyncio.sleep(0)

    def now(self) -> datetime:
        """Return the time of this machine."""
        return datetime.now(UTC)

    async def finish(self, work: Awaitable[T]) -> T:
        """Await it, with a limit."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await work
