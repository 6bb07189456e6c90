"""Clock: time, sleep, timeouts, worker threads, random numbers and ids, the non-deterministic inputs of a turn."""

import asyncio
import itertools
import os
import random
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from functools import partial
from typing import Protocol, TypeVar

import anyio.to_thread

T = TypeVar("T")


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

    async def run_in_thread(self, function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
        """Run a blocking function in a worker thread and return its result.

        With `abandon_on_cancel` a cancelled caller does not wait for the thread to finish.
        """
        ...

    def random(self) -> float:
        """Return a number in [0, 1) for jitter; must not be used for secrets."""
        ...

    def new_id(self) -> str:
        """Return a new identifier of 20 lower-case hexadecimal digits."""
        ...


class SystemClock:
    """Clock of the operating system; identifiers are unique but not secret."""

    def __init__(self) -> None:
        self._process = 0
        self._prefix = ""
        self._count = itertools.count()

    # Library functions without a wrapper: every attempt and every tool call reads the time.
    now = staticmethod(partial(datetime.now, UTC))
    monotonic = staticmethod(time.monotonic)
    random = staticmethod(random.random)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        # asyncio's scope costs half of anyio's, and every tool call runs inside one.
        return asyncio.timeout(seconds)

    async def run_in_thread(self, function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
        return await anyio.to_thread.run_sync(function, abandon_on_cancel=abandon_on_cancel)

    def new_id(self) -> str:
        if os.getpid() != self._process:  # first call in this process, also after a fork
            self._process, self._prefix = os.getpid(), os.urandom(6).hex()
        return f"{self._prefix}{next(self._count) & 0xFFFFFFFF:08x}"
