"""Clock: time, sleep, timeouts, threads, random numbers and ids, the non-deterministic inputs of a turn; stopwatch."""

import asyncio
import contextvars
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


class SystemClock:
    """Clock of the operating system; identifiers have 80 random bits, so none can be guessed from another."""

    # Library functions without a wrapper: every attempt and every tool call reads the time.
    now = staticmethod(partial(datetime.now, UTC))
    monotonic = staticmethod(time.monotonic)
    random = staticmethod(random.random)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        # asyncio's scope costs half of anyio's.
        return asyncio.timeout(seconds)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        # In a context of its own: that of a turn must not live as long as a timer.
        return asyncio.get_running_loop().call_later(seconds, callback, context=contextvars.Context())

    async def run_in_thread(self, function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
        return await anyio.to_thread.run_sync(function, abandon_on_cancel=abandon_on_cancel)

    def new_id(self) -> str:
        return os.urandom(_ID_BYTES).hex()

    def new_nonce(self) -> str:
        return os.urandom(8).hex()


class Stopwatch:
    """Stopwatch that starts at construction; `pause` and `resume` nest, so concurrent waits are counted once.

    `initial_seconds` is the active time before a resume.
    """

    __slots__ = ("_clock", "_earlier", "_pauses", "_since", "initial_seconds")

    def __init__(self, clock: Clock, earlier_seconds: float = 0.0) -> None:
        self._clock = clock
        self.initial_seconds = self._earlier = earlier_seconds
        self._since = clock.monotonic()
        self._pauses = 0

    @property
    def seconds(self) -> float:
        """Active time so far in seconds, including the time before a resume (`earlier_seconds`)."""
        if self._pauses:
            return self._earlier
        return self._earlier + self._clock.monotonic() - self._since

    def pause(self) -> None:
        """Stop the time; each call needs a matching `resume`."""
        if not self._pauses:
            self._earlier = self.seconds
        self._pauses += 1

    def resume(self) -> None:
        """End one `pause`; time runs again after the last one."""
        self._pauses -= 1
        if not self._pauses:
            self._since = self._clock.monotonic()


def to_utc(moment: datetime) -> datetime:
    """Return an aware time in UTC. Raises ValueError for a naive one, and for one that its zone puts into no year."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; give an aware time")
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # no ValueError: whoever parses a time expects one
        raise ValueError(f"{moment.isoformat()} is before the year 1 or after the year 9999 in UTC") from None
