"""Functions that block, run in such a way that a test with them is repeatable."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

import anyio

T = TypeVar("T")

HELD_SECONDS = 0.05
"""Real time for which the event loop stands still for a thread."""


class HeldThreads:
    """Runs each function in a thread of its own, while the event loop stands still.

    What the loop does next then never depends on which thread was faster. A function that takes longer than
    HELD_SECONDS, because it waits for something that only the loop or another thread can do, goes on beside the loop.
    """

    def __init__(self) -> None:
        self.at_work = 0
        """How many go on beside the loop."""

    async def run(self, function: Callable[[], T], *, abandon_on_cancel: bool) -> T:
        """As `anyio.to_thread.run_sync`; the function cannot call back with `anyio.from_thread`."""
        await asyncio.sleep(0)
        future = _started(function)
        if not wait([future], HELD_SECONDS).not_done:
            return future.result()
        self.at_work += 1
        try:
            with anyio.CancelScope(shield=not abandon_on_cancel):
                await asyncio.wrap_future(future)
        finally:
            self.at_work -= 1
        return future.result()


def _started(function: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        future.set_running_or_notify_cancel()
        try:
            result = context.run(function)
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=work, name="sophon.testing", daemon=True).start()
    return future
