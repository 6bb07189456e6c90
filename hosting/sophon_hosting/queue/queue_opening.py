"""Opening of a task queue when a host starts: at once, or as soon as its server can be reached."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from sophon.clock import Clock
from sophon.failure_log import log_failure
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.health import QueueHealth

log = logging.getLogger("sophon")

RETRY_SECONDS: Final = 2.0
"""Delay between two attempts to open a queue whose server could not be reached at the start."""


class QueueOpening:
    """Opens a queue, awaits `catch_up`, which brings it in line with the store, and calls `start_worker`.

    If the server of the queue cannot be reached, it keeps trying in the background; messages are accepted meanwhile.
    """

    def __init__(
        self,
        queue: TaskQueue,
        health: QueueHealth,
        clock: Clock,
        *,
        catch_up: Callable[[], Awaitable[None]],
        start_worker: Callable[[], None],
    ) -> None:
        self._queue, self._health, self._clock = queue, health, clock
        self._catch_up, self._start_worker = catch_up, start_worker
        self._retry: asyncio.Task[None] | None = None
        self.is_done = False
        """Whether the queue was opened; until then this process has begun no task."""

    async def open(self) -> None:
        """Open the queue, or begin to try it again and again. Raises what `catch_up` raises."""
        try:
            await self._open()
        except QueueUnavailable:
            self._retry = asyncio.create_task(self._open_later())

    async def stop(self) -> None:
        """Try no more."""
        retry, self._retry = self._retry, None
        if retry is not None:
            retry.cancel()
            with suppress(asyncio.CancelledError):
                await retry

    async def _open(self) -> None:
        with self._health.watch():
            await self._queue.open()
            await self._catch_up()
        self.is_done = True
        self._start_worker()

    async def _open_later(self) -> None:
        while not self.is_done:
            await self._clock.sleep(RETRY_SECONDS)
            try:
                await self._open()
            except QueueUnavailable:
                continue
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "the queue could not be opened; the next attempt follows")
