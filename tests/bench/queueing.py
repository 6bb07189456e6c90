"""A task through the queue, beside the same through asyncio's own, which has no lanes, no bound in time and no ack."""

import asyncio

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.in_memory import MemoryQueue

SESSIONS = 20


class Ours:
    """Put, take and ack, over so many sessions in turn, behind so many tasks that wait."""

    def __init__(self, waiting: int) -> None:
        self._queue = MemoryQueue()
        self._waiting = waiting
        self._count = 0

    async def task(self) -> None:
        """One task through."""
        while self._count < self._waiting:
            await self._put()
        await self._put()
        await self._queue.ack(await self._queue.take())

    async def _put(self) -> None:
        self._count += 1
        await self._queue.put(QueueEntry(f"t{self._count}", f"s{self._count % SESSIONS}"))


class Plain:
    """The same with asyncio.Queue."""

    def __init__(self, waiting: int) -> None:
        self._queue: asyncio.Queue[QueueEntry] = asyncio.Queue(100)
        self._waiting = waiting
        self._count = 0

    async def task(self) -> None:
        """One task through."""
        while self._count < self._waiting:
            await self._put()
        await self._put()
        await self._queue.get()
        self._queue.task_done()

    async def _put(self) -> None:
        self._count += 1
        await self._queue.put(QueueEntry(f"t{self._count}", f"s{self._count % SESSIONS}"))
