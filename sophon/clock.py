"""Time, chance and identifiers: all that a turn uses and its input does not determine."""

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
    """What everything that waits, dates or draws asks; `sophon.testing.VirtualClock` stands in for it in tests."""

    def now(self) -> datetime:
        """The date, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a checkpoint for cancellation even at 0."""
        ...

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        """A scope that cancels its body after so many seconds and raises TimeoutError; None never does."""
        ...

    async def in_thread(self, function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
        """Run a function that may block, in a worker thread, and wait for it; whether cancellation waits too."""
        ...

    def random(self) -> float:
        """A number in [0, 1) for jitter; never for secrets."""
        ...

    def new_id(self) -> str:
        """A new identifier of 20 lower-case hexadecimal digits."""
        ...


class SystemClock:
    """The machine's own time and chance; identifiers are unique, not secret."""

    def __init__(self) -> None:
        self._process = 0
        self._prefix = ""
        self._count = itertools.count()

    # The library's own functions with no call of ours around them: every attempt and every tool call asks for the time.
    now = staticmethod(partial(datetime.now, UTC))
    monotonic = staticmethod(time.monotonic)
    random = staticmethod(random.random)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        # asyncio's own scope: half the price of anyio's, and it stands around every tool call.
        return asyncio.timeout(seconds)

    async def in_thread(self, function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
        return await anyio.to_thread.run_sync(function, abandon_on_cancel=abandon_on_cancel)

    def new_id(self) -> str:
        if os.getpid() != self._process:  # the first call, or the first in a child of the process that made the clock
            self._process, self._prefix = os.getpid(), os.urandom(6).hex()
        return f"{self._prefix}{next(self._count) & 0xFFFFFFFF:08x}"
