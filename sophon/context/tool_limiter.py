"""Concurrency limiter for the tool calls of a turn: a FIFO semaphore that a serial tool acquires exclusively."""

import asyncio
from types import TracebackType


class ToolLimiter:
    """FIFO semaphore for a turn's tool calls with `limit` slots; a serial tool acquires all of them exclusively.

    A serial acquirer waits until no other call runs, and later acquirers wait for it. Shared by a turn, its tool-call
    branches and its plan steps. A call that waits for an approval must not hold a slot.
    """

    __slots__ = ("_exclusive", "_running", "_waiting", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._running = 0
        self._exclusive = False
        # A list, not a deque: an empty deque takes 600 bytes, every turn has one, and it is nearly always empty.
        self._waiting: list[tuple[asyncio.Future[None], bool]] = []

    def slot(self, *, serial: bool = False) -> "_Slot":
        """Return an async context manager that acquires a slot and releases it on exit."""
        return _Slot(self, serial)

    def has_capacity(self, serial: bool) -> bool:
        """Return whether one more call could run now, ignoring the waiters."""
        return self._running == 0 if serial else not self._exclusive and self._running < self.limit

    def try_acquire(self, serial: bool) -> bool:
        """Acquire a slot if one is free and nobody waits; return whether it was acquired."""
        if self._waiting or self._exclusive or self._running >= (1 if serial else self.limit):
            return False
        self._running += 1
        self._exclusive = serial
        return True

    async def acquire(self, serial: bool) -> None:
        """Wait for a slot and acquire it; release it with `release`."""
        if self.try_acquire(serial):
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (waiter, serial)
        self._waiting.append(entry)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.release()
            else:
                # A release in between may already have removed this entry.
                if entry in self._waiting:
                    self._waiting.remove(entry)
                self._wake_waiters()
            raise

    def release(self) -> None:
        """Release a slot and wake the waiters that fit."""
        self._running -= 1
        self._exclusive = False
        if self._waiting:
            self._wake_waiters()

    def _admit(self, serial: bool) -> None:
        self._running += 1
        self._exclusive = serial

    def _wake_waiters(self) -> None:
        while self._waiting and self.has_capacity(self._waiting[0][1]):
            waiter, serial = self._waiting.pop(0)
            if not waiter.done():
                self._admit(serial)
                waiter.set_result(None)


class _Slot:
    __slots__ = ("_limiter", "_serial")

    def __init__(self, limiter: ToolLimiter, serial: bool) -> None:
        self._limiter = limiter
        self._serial = serial

    async def __aenter__(self) -> None:
        await self._limiter.acquire(self._serial)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limiter.release()
