"""Waiting for work: one blocking read per process, however many consumers wait."""

import asyncio
from collections.abc import Callable

from sophon_hosting.queue.redis_streams.connection import RedisConnection

MAX_BLOCK_MS = 1000
"""Longest blocking read: a consumer that nobody has woken looks by itself then."""


class PermitReader:
    """Consumers that wait take turns, in the order in which they came, so that blocking reads starve nobody.

    A read goes on if its consumer is cancelled, for the next one. `on_unused` gets the permit if there is none.
    """

    def __init__(
        self, connection: RedisConnection, consumer: str, lease_seconds: float, on_unused: Callable[[str], None]
    ) -> None:
        self._connection, self._consumer, self._on_unused = connection, consumer, on_unused
        self._block_ms = max(1, min(MAX_BLOCK_MS, int(lease_seconds * 1000 / 3)))
        self._turn = asyncio.Lock()
        self._reading: asyncio.Task[str | None] | None = None
        self._is_awaited = False

    async def wait(self, due_ms: int, *, is_wanted: Callable[[], bool]) -> str | None:
        """Wait for a permit and return its id; None after a time, after which the caller looks for itself.

        `due_ms` is the time until a delayed entry is due, or -1. Nothing is read unless `is_wanted` when it is this
        consumer's turn.
        """
        async with self._turn:
            if not is_wanted():
                return None
            if self._reading is None:
                block_ms = self._block_ms if due_ms < 0 else min(self._block_ms, due_ms + 1)
                self._reading = asyncio.create_task(self._connection.read_permit(self._consumer, block_ms))
                self._reading.add_done_callback(self._end)
            reading, self._is_awaited = self._reading, True
            try:
                return await asyncio.shield(reading)
            except asyncio.CancelledError:
                self._is_awaited = False
                if reading.done():  # it came in the same step
                    self._end(reading)
                raise

    async def close(self) -> None:
        """Wait until nothing is read any more."""
        if self._reading is not None:
            await asyncio.wait([self._reading])

    def _end(self, reading: "asyncio.Task[str | None]") -> None:
        self._reading = None
        permit = None if reading.cancelled() or reading.exception() is not None else reading.result()
        if permit is not None and not self._is_awaited:
            self._on_unused(permit)
        self._is_awaited = False
