"""Clock: time, sleep, timeouts, worker threads, random numbers and ids, the non-deterministic inputs of a turn."""

import asyncio
import os
import random
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from functools import partial
from typing import Protocol, TypeVar

import anyio.to_thread

from sophon.shared_timer import DueCall, SharedTimer

T = TypeVar("T")


class Timer(Protocol):
    """Protocol of a call that is due later."""

    def cancel(self) -> None:
        """Call nothing any more; no effect after the call."""
        ...


class Clock(Protocol):
    """Protocol for time, randomness and ids; `sophon.testing.VirtualClock` implements it for tests."""

    def now(self) -> datetime:
        """Return the current time as an aware datetime in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment; never decreases."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Sleep; a checkpoint for cancellation even at 0 seconds."""
        ...

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        """Return a scope that cancels its body after `seconds` and raises TimeoutError; None means no timeout."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` in the event loop after `seconds`; as with a timeout, nobody waits for it."""
        ...

    async def run_in_thread(self, function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
        """Run a blocking function in a worker thread and return its result.

        With `abandon_on_cancel` a cancelled caller does not wait for the thread to finish.
        """
        ...

    def random(self) -> float:
        """Return a number in [0, 1) for jitter; must not be used for secrets."""
        ...

    def new_id(self) -> str:
        """Return a new random identifier of 20 lower-case hexadecimal digits, which nobody can guess."""
        ...

    def new_nonce(self) -> str:
        """Return 16 lower-case hexadecimal digits that nobody can guess from other ids and nonces."""
        ...


_ID_BYTES = 10
_IDS_PER_DRAW = 64

_spare_ids: list[str] = []
"""Ids that were drawn and not used yet: a question to the system for each costs more than what it is for. Taking one is
atomic, so that threads never share one; a forked child draws its own."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_spare_ids.clear)


def _draw_ids() -> str:
    """Draw random ids, keep all but one, and return that one."""
    drawn, digits = os.urandom(_ID_BYTES * _IDS_PER_DRAW).hex(), 2 * _ID_BYTES
    ids = [drawn[start : start + digits] for start in range(0, len(drawn), digits)]
    last = ids.pop()
    _spare_ids.extend(ids)
    return last


class SystemClock:
    """Clock of the operating system; identifiers have 80 random bits, so none can be guessed from another."""

    # Library functions without a wrapper: every attempt and every tool call reads the time.
    now = staticmethod(partial(datetime.now, UTC))
    monotonic = staticmethod(time.monotonic)
    random = staticmethod(random.random)

    _timer: SharedTimer | None = None

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        # asyncio's scope costs half of anyio's.
        return asyncio.timeout(seconds)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> DueCall:
        timer, loop = self._timer, asyncio.get_running_loop()
        if timer is None or timer.loop is not loop:
            # What waits in another loop keeps that loop's timer.
            timer = self._timer = SharedTimer(loop)
        return timer.call_later(seconds, callback)

    async def run_in_thread(self, function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
        return await anyio.to_thread.run_sync(function, abandon_on_cancel=abandon_on_cancel)

    def new_id(self) -> str:
        try:
            return _spare_ids.pop()
        except IndexError:
            return _draw_ids()

    def new_nonce(self) -> str:
        return os.urandom(8).hex()
