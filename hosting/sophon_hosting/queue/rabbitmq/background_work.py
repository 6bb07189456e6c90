"""Background work on the broker: tasks that nobody awaits, whose trouble with the broker ends the connection anyway."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from sophon.errors import QueueUnavailable
from sophon_hosting.queue.rabbitmq.connection import BrokerError

log = logging.getLogger("sophon")


class BackgroundWork:
    """Tasks of one owner, which it cancels together."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        """Run it; that the broker cannot be reached is only logged."""
        task = asyncio.create_task(_ignore_trouble(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # if it was cancelled before it began

    def cancel(self) -> None:
        """Cancel all of it."""
        for each in self._tasks:
            each.cancel()

    async def stop(self) -> None:
        """Cancel all of it, and wait until it has ended."""
        self.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _ignore_trouble(work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except (BrokerError, QueueUnavailable) as error:
        log.debug("the queue's broker did not take a message: %s", error)
