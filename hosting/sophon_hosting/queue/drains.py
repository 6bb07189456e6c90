"""Pending drains: tasks that wait until nothing is in flight, or until the queue is resumed."""

import asyncio


class PendingDrains:
    """Waiting calls of `TaskQueue.drain`."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[bool]] = set()

    async def wait(self) -> bool:
        """Wait for `end`; return its argument."""
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            return await waiter
        finally:
            self._waiting.discard(waiter)

    def end(self, *, drained: bool) -> None:
        """End all waiting calls: `drained`, or aborted by a resume."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(drained)
