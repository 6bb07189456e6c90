"""Background tasks of one owner, which nobody awaits one by one and which the owner ends together."""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

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
