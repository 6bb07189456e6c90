"""Asks the server for the counts of the queue about once a second, so that `reserve` can decide without it."""

import asyncio
import logging

from sophon.errors import QueueUnavailable
from sophon_hosting.queue.known_counts import KnownCounts
from sophon_hosting.queue.postgresql.operations import Operations
from sophon_hosting.queue.postgresql.statements import Statement

REFRESH_SECONDS = 1.0
"""Age of the counts with which `reserve` decides."""

_log = logging.getLogger(__name__)


class CountRefresher:
    """Periodic task that replaces the known counts by those of the server."""

    def __init__(self, operations: Operations, statement: Statement, counts: KnownCounts) -> None:
        self._operations, self._statement, self._counts = operations, statement, counts
        self._task: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether it runs."""
        return self._task is not None

    async def open(self) -> None:
        """Ask for the first time. Raises QueueUnavailable."""
        await self._refresh()
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop asking."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                await self._refresh()
            except QueueUnavailable as error:
                _log.debug("the counts of the queue are out of date: %s", error)

    async def _refresh(self) -> None:
        """Ask for the counts, and once more if something was delivered meanwhile: that comes on another connection."""
        for _ in range(2):
            deliveries = self._counts.deliveries
            rows = await self._operations.run(self._statement, is_repeatable=True)
            [(waiting, in_flight, seconds, by_owner)] = rows
            self._counts.learn_all(waiting, in_flight, by_owner)
            self._counts.drain_rate.elsewhere = seconds
            if deliveries == self._counts.deliveries:
                return
