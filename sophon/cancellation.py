"""Cancellation of a turn: tells it from a CancelledError that something inside the turn raised by itself."""

import asyncio
import math
import threading
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio

from sophon._python.task_groups import mend_task_groups
from sophon.clock import Clock
from sophon.errors import ChainError

T = TypeVar("T")

mend_task_groups()

MAX_SECONDS_WITHOUT_PASS = 0.002
"""Longest time for which turns that never wait keep their event loop from running anything else. It buys 13 % of a
plain turn, which would otherwise yield before each call; nobody notices a cancellation that arrives 2 ms later.
"""


class _LastPass(threading.local):
    """Time at which a turn of this thread last let its event loop run."""

    at = -math.inf


_last_pass = _LastPass()


class Cancellation:
    """Whether a turn is cancelled; one object for a turn, its tool-call branches and its plan steps.

    A task counts the requests to cancel it (`asyncio.Task.cancelling`), and every time-out takes its own back, so a
    CancelledError without a new request was raised from within: by a tool that cancelled a task of its own, for
    example. Requests that the caller had received before `begin` are not the turn's. A cancelled anyio scope counts
    even before it is delivered.

    A time-out and an anyio scope around the turn take their request back while a part of the turn may go on in another
    task. The turn stays cancelled all the same once it was seen to end as cancelled: nothing of it starts after that.
    """

    __slots__ = ("_baseline", "_is_requested", "_task", "is_end_recorded")

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._baseline = 0
        self._is_requested = False
        self.is_end_recorded = False
        """Whether the turn's end was recorded and announced; a later cancellation does not change it."""

    async def begin(self) -> None:
        """Begin to count, in the task that runs the turn. Raises CancelledError if a request is not yet delivered, and
        ChainError for a turn that was cancelled before.
        """
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            await asyncio.sleep(0)
        if self._is_requested and not self.is_end_recorded:
            raise ChainError("this turn was cancelled: create a new one with services.turn(...)")
        self._task, self._baseline = task, task.cancelling() if task is not None else 0

    def request(self) -> None:
        """Mark the turn as cancelled for good, whatever becomes of the CancelledError in its tasks."""
        self._is_requested = True

    @property
    def is_requested(self) -> bool:
        """Whether the turn, or the branch or step that the current task runs, is to be cancelled."""
        return self._is_task_cancelled() or anyio.current_effective_deadline() == -math.inf

    def _is_task_cancelled(self) -> bool:
        root = self._task
        if self._is_requested or (root is not None and root.cancelling() > self._baseline):
            return True
        current = asyncio.current_task()
        return current is not None and current is not root and current.cancelling() > 0

    async def checkpoint(self, clock: Clock) -> None:
        """Raise CancelledError if the turn is cancelled or over: called before each model call and each tool call.

        Callbacks that are ready and timers that are due run first, unless they could less than
        `MAX_SECONDS_WITHOUT_PASS` ago: so a request or a time-out arrives also where nothing else ever waits. Where
        time stands still, as in a test, they always run first: the order of events must not depend on the machine.
        """
        if not 0 < clock.monotonic() - _last_pass.at < MAX_SECONDS_WITHOUT_PASS:
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # a pass runs a timer that is due behind the task that has yielded
            _last_pass.at = clock.monotonic()
            is_cancelled = self.is_requested
        else:
            is_cancelled = self._is_task_cancelled()  # asking anyio costs 3 % of a turn; it is asked at the next pass
        if is_cancelled or self.is_end_recorded:
            raise asyncio.CancelledError

    @asynccontextmanager
    async def enforce(self) -> AsyncGenerator[None]:
        """End the body as cancelled if, and only if, the turn is cancelled.

        A body that swallowed the cancellation, or turned it into another exception, raises CancelledError all the same.
        A CancelledError without a request becomes a ChainError. Does nothing once the turn's end was recorded.
        """
        try:
            yield
        except (Exception, asyncio.CancelledError) as error:
            await self.enforce_after(error, whole_turn=False)
            raise
        await self.enforce_after(None, whole_turn=False)

    async def enforce_after(self, error: Exception | asyncio.CancelledError | None, *, whole_turn: bool) -> None:
        """Do what `enforce` does at the end of its body, which raised `error`; the caller re-raises it after that.

        If the body is the `whole_turn`, and not a branch or a step, the turn stays cancelled.
        """
        if self.is_end_recorded:
            return
        is_cancelled = isinstance(error, asyncio.CancelledError)
        if not self.is_requested:
            if is_cancelled:
                raise ChainError("a part of the turn was cancelled from within, though nobody cancelled it") from error
            return
        if whole_turn:
            self.request()
        if not is_cancelled:
            # A request that is still pending is delivered here, and not to the await that records the cancellation.
            await asyncio.sleep(0)
            raise asyncio.CancelledError from error


async def run_despite_cancellation(work: Coroutine[Any, Any, T], seconds: float, *, is_cancelled: bool = False) -> T:
    """Run `work` to its end in a task of its own, whatever number of cancellations arrive; then raise the first one.

    An anyio shield alone does not hold off `asyncio.Task.cancel`. From the first cancellation on, or from the start if
    the caller `is_cancelled` already, `work` has `seconds`, so that nothing that hangs holds the process for ever; then
    it is cancelled, and once more after as long, and given up after as long again. Raises TimeoutError for work that
    had to be cancelled, unless a cancellation was held off.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    held_off: asyncio.CancelledError | None = None
    deadline, expiries = (loop.time() + seconds if is_cancelled else None), 0
    # The shield keeps anyio from cancelling again and again; what it holds off, anyio delivers afterwards.
    with anyio.CancelScope(shield=True):
        while not task.done() and expiries < _MAX_EXPIRIES:
            try:
                await asyncio.wait({task}, timeout=None if deadline is None else max(0, deadline - loop.time()))
            except asyncio.CancelledError as error:
                held_off = held_off or error
                deadline = loop.time() + seconds if deadline is None else deadline
            if deadline is not None and loop.time() >= deadline and not task.done():
                expiries += 1
                deadline = loop.time() + seconds
                task.cancel()
    if held_off is not None:
        raise held_off
    if expiries:
        raise TimeoutError(f"not finished {seconds:g} seconds after the cancellation")
    return task.result()


_MAX_EXPIRIES = 3
