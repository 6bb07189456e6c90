"""Background tasks of one owner, which the owner ends together, and work that completes without its caller."""

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

from sophon.failure_log import log_failure

log = logging.getLogger("sophon")

T = TypeVar("T")


class BackgroundTasks:
    """Running tasks. A reference to each is kept, because the event loop keeps none: it could be lost while it runs."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[asyncio.Task[Any]]:
        return iter(list(self._tasks))

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `work` as a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def cancel(self) -> None:
        """Cancel all tasks."""
        for task in self:
            task.cancel()

    async def wait(self) -> None:
        """Wait until all tasks have ended; their errors are not raised."""
        await asyncio.gather(*self, return_exceptions=True)

    async def stop(self) -> None:
        """Cancel all tasks, and wait until they have ended."""
        await end_tasks(*self)


async def end_tasks(*tasks: "asyncio.Future[Any] | None") -> None:
    """Cancel tasks, and wait until they have ended; their errors are not raised. None stands for no task."""
    running = [each for each in tasks if each is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def complete(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, which completes even if the caller is cancelled. Raises its errors.

    One that nobody hears any more is logged in a line; after `asyncio.shield` alone, asyncio reports it as an exception
    that was never retrieved, with a traceback.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(_log_unheard_failure)
        raise


def _log_unheard_failure(work: asyncio.Future[Any]) -> None:
    if not work.cancelled() and isinstance(error := work.exception(), Exception):
        log_failure(log, error, "a transaction whose caller was cancelled failed")
