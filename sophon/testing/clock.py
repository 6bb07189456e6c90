"""A clock that a test moves: no test of Sophon ever waits for real."""

import asyncio
import heapq
import itertools
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

IDLE_POLL_SECONDS = 0.05
IDLE_POLLS = 5
SPINS_WITHOUT_QUEUE = 100


@dataclass(order=True, slots=True)
class _Timer:
    due: float
    order: int
    fire: Callable[[], None] = field(compare=False)
    drives: bool = field(compare=False)
    """A sleep drives virtual time; a timeout only fires when time passes it."""
    done: bool = field(default=False, compare=False)


class VirtualClock:
    """Virtual time for tests: begins at 2026-01-01 00:00 UTC, monotonic 0.

    With `auto` (the default) a sleep ends as soon as nothing else in the event loop can run, the earliest first, so
    that a test of hours takes microseconds. A timeout fires when a sleep carries time past it, or when the whole loop
    has had nothing to do for a quarter of a real second: then the body hangs, and only its timeout can end it.
    Without `auto` time stands still until `advance` is called.

    Identifiers and jitter come from `seed`: the same input, script and clock give the same event log.
    """

    def __init__(self, *, auto: bool = True, start: datetime | None = None, seed: int = 0) -> None:
        self._auto = auto
        self._start = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._elapsed = 0.0
        self._timers: list[_Timer] = []
        self._order = itertools.count()
        self._ids = itertools.count(1)
        self._random = random.Random(seed)  # noqa: S311 - a test's repeatable chance
        self._watched_by: asyncio.AbstractEventLoop | None = None
        self.slept: list[float] = []
        """Every sleep that was asked for, in seconds, in order."""

    def now(self) -> datetime:
        """The virtual date."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Virtual seconds since the beginning."""
        return self._elapsed

    def random(self) -> float:
        """The next number of the seeded sequence."""
        return self._random.random()

    def new_id(self) -> str:
        """1, 2, 3 as 20 hexadecimal digits."""
        return f"{next(self._ids):020x}"

    async def sleep(self, seconds: float) -> None:
        """Wait in virtual time."""
        self.slept.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        timer = self._add(seconds, wake, drives=True)
        try:
            await woken
        finally:
            timer.done = True

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        """A scope as `Clock.timeout`, in virtual time."""
        return self._timeout(seconds)

    async def advance(self, seconds: float) -> None:
        """Move time; whatever falls due on the way happens in order, and what it starts may run."""
        target = self._elapsed + seconds
        await _settle()
        while self._timers and self._timers[0].due <= target:
            self._fire_next()
            await _settle()
        self._elapsed = max(self._elapsed, target)

    @asynccontextmanager
    async def _timeout(self, seconds: float | None) -> AsyncGenerator[asyncio.Timeout]:
        async with asyncio.timeout(None) as scope:
            if seconds is None:
                yield scope
                return
            loop = asyncio.get_running_loop()
            timer = self._add(seconds, lambda: scope.reschedule(loop.time()), drives=False)
            try:
                yield scope
            finally:
                timer.done = True

    def _add(self, seconds: float, fire: Callable[[], None], *, drives: bool) -> _Timer:
        timer = _Timer(self._elapsed + max(seconds, 0.0), next(self._order), fire, drives)
        heapq.heappush(self._timers, timer)
        loop = asyncio.get_running_loop()
        if self._auto and self._watched_by is not loop:
            self._watched_by = loop
            loop.call_soon(self._watch, 0, 0)
        return timer

    def _watch(self, spins: int, polls: int) -> None:
        """Let everything else run first; then, when all wait, let the earliest sleep end."""
        while self._timers and self._timers[0].done:
            heapq.heappop(self._timers)
        if not self._timers:
            self._watched_by = None
            return
        loop = asyncio.get_running_loop()
        # asyncio has no public way to ask whether anything is ready; without its queue we give it many turns instead.
        ready = getattr(loop, "_ready", None)
        busy = bool(ready) if ready is not None else spins < SPINS_WITHOUT_QUEUE
        if busy:
            loop.call_soon(self._watch, spins + 1, 0)
        elif any(timer.drives and not timer.done for timer in self._timers):
            self._fire_next()
            loop.call_soon(self._watch, 0, 0)
        elif polls < IDLE_POLLS:
            loop.call_later(IDLE_POLL_SECONDS, self._watch, 0, polls + 1)
        else:
            self._fire_next()
            loop.call_soon(self._watch, 0, 0)

    def _fire_next(self) -> None:
        timer = heapq.heappop(self._timers)
        if not timer.done:
            self._elapsed = max(self._elapsed, timer.due)
            timer.done = True
            timer.fire()


async def _settle() -> None:
    for _ in range(SPINS_WITHOUT_QUEUE):
        await asyncio.sleep(0)
