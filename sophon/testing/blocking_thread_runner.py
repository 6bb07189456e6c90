"""Deterministic runner for blocking functions in tests: the event loop is blocked while a thread runs."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

import anyio

T = TypeVar("T")

LOOP_BLOCK_SECONDS = 0.05
"""Real time in seconds for which the event loop is blocked for a thread."""


class BlockingThreadRunner:
    """Runs each function in a thread of its own and blocks the event loop meanwhile.

    The order of events then does not depend on which thread is faster. A function that needs more than
    `LOOP_BLOCK_SECONDS`, because it waits for the loop or for another thread, continues concurrently with the loop.
    """

    def __init__(self) -> None:
        self.running = 0
        """Number of functions that run concurrently with the loop."""

    async def run(self, function: Callable[[], T], *, abandon_on_cancel: bool) -> T:
        """Run as `anyio.to_thread.run_sync`; the function must not use `anyio.from_thread`."""
        await asyncio.sleep(0)
        future = _start_thread(function)
        if not wait([future], LOOP_BLOCK_SECONDS).not_done:
            return future.result()
        self.running += 1
        try:
            with anyio.CancelScope(shield=not abandon_on_cancel):
                await asyncio.wrap_future(future)
        finally:
            self.running -= 1
        return future.result()


def _start_thread(function: Callable[[], T]) -> Future[T]:
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
