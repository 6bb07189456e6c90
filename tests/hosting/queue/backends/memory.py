"""The queue in memory, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from sophon.testing import VirtualClock
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.in_memory import MemoryQueue
from tests.hosting.queue.backends.backend import PATIENCE_SECONDS, Backend, Options

T = TypeVar("T")

MOMENT_SECONDS = 0.05


class MemoryBackend(Backend):
    name = "memory"
    has_instances = False
    many = 3000

    def __init__(self) -> None:
        self.clock = VirtualClock(auto=False)

    def build(self, name: str, options: Options) -> TaskQueue:
        return MemoryQueue(
            options.capacity,
            max_deliveries=options.max_deliveries,
            owner_share=options.owner_share,
            clock=self.clock,
        )

    async def remove(self, name: str) -> None:
        """Do nothing."""

    async def step(self, queue: TaskQueue) -> None:
        await asyncio.sleep(0)

    async def settle(self, *queues: TaskQueue) -> None:
        await self.clock.advance(0)

    def now(self) -> datetime:
        return self.clock.now()

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await condition():
                await self.clock.advance(MOMENT_SECONDS)
                await asyncio.sleep(0)

    async def finish(self, work: Awaitable[T]) -> T:
        task = asyncio.ensure_future(work)
        try:
            await asyncio.sleep(0)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not task.done():
                    await self.clock.advance(0)
                    if not task.done():
                        await self.clock.advance(MOMENT_SECONDS)
                    await asyncio.sleep(0)  # for the limit above, which is in real time
            return task.result()
        finally:
            task.cancel()
