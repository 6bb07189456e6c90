"""A clock that a test moves: no test of Sophon ever waits for real."""

import asyncio
import heapq
import itertools
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import anyio.to_thread

from sophon.testing.threads import HeldThreads

T = TypeVar("T")

IDLE_POLL_SECONDS = 0.05
IDLE_POLLS = 5
IDLE_POLLS_WITH_THREADS = 40
SPINS_WITHOUT_QUEUE = 100


@dataclass(order=True, slots=True)
class _Timer:
    due: float
    order: int
    fire: Callable[[], None] = field(compare=False)
    drives: bool = field(compare=False)
    """A sleep drives virtual time; a timeout only fires when time passes it."""
    loop: asyncio.AbstractEventLoop = field(compare=False)
    done: bool = field(default=False, compare=False)


class VirtualClock:
    """Virtual time for tests: begins at 2026-01-01 00:00 UTC, monotonic 0.

    With `auto` (the default) a sleep ends as soon as nothing else in the event loop can run, the earliest first, so
    that a test of hours takes microseconds. A timeout fires when a sleep carries time past it, or when no task of the
    loop has moved for a quarter of a real second: then the body hangs, and only its timeout can end it. A worker thread
    at work holds both for two real seconds. Without `auto` time stands still until `advance` is called.

    Identifiers and jitter come from `seed`: the same input, script and clock give the same event log.
    """

    def __init__(self, *, auto: bool = True, start: datetime | None = None, seed: int = 0) -> None:
        self._auto = auto
        self._start = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._elapsed = 0.0
        self._timers: list[_Timer] = []
        self._sleepers = 0
        self._threads: anyio.CapacityLimiter | None = None
        self._held = HeldThreads()
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
            self._end(timer)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        """A scope as `Clock.timeout`, in virtual time."""
        return self._timeout(seconds)

    async def in_thread(self, function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
        """As `Clock.in_thread`; everything else stands still until the function has ended: see `HeldThreads`."""
        return await self._held.run(function, abandon_on_cancel=abandon_on_cancel)

    def advance(self, seconds: float) -> Awaitable[None]:
        """Move time; whatever falls due on the way happens in order, and what it starts may run.

        Awaited, it returns when all that has settled. It moves without being awaited too: at once if nothing can run
        and nothing falls due, else while the loop goes on.
        """
        target = self._elapsed + seconds
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._elapsed = target
            return _Arrived()
        arrived: asyncio.Future[None] = loop.create_future()
        if getattr(loop, "_ready", True) or self._due(target):
            loop.call_soon(self._step, loop, target, SPINS_WITHOUT_QUEUE, arrived)
        else:
            self._elapsed = target
            arrived.set_result(None)
        return arrived

    def _due(self, target: float) -> bool:
        return bool(self._timers) and self._timers[0].due <= target

    def _step(self, loop: asyncio.AbstractEventLoop, target: float, spins: int, arrived: asyncio.Future[None]) -> None:
        """Let everything run, then fire what is due next, until the target is reached and everything has run."""
        if spins:
            loop.call_soon(self._step, loop, target, spins - 1, arrived)
        elif self._due(target):
            self._fire_next()
            loop.call_soon(self._step, loop, target, SPINS_WITHOUT_QUEUE, arrived)
        else:
            self._elapsed = max(self._elapsed, target)
            if not arrived.done():
                arrived.set_result(None)

    @asynccontextmanager
    async def _timeout(self, seconds: float | None) -> AsyncGenerator[asyncio.Timeout]:
        async with asyncio.timeout(0 if seconds is not None and seconds <= 0 else None) as scope:
            if seconds is None or seconds <= 0:
                yield scope
                return
            loop = asyncio.get_running_loop()
            timer = self._add(seconds, lambda: scope.reschedule(loop.time()), drives=False)
            try:
                yield scope
            finally:
                self._end(timer)

    def _add(self, seconds: float, fire: Callable[[], None], *, drives: bool) -> _Timer:
        loop = asyncio.get_running_loop()
        timer = _Timer(self._elapsed + seconds, next(self._order), fire, drives, loop)
        heapq.heappush(self._timers, timer)
        self._sleepers += drives
        if self._auto and self._watched_by is not loop:
            self._watched_by = loop
            self._leave_other_loops(loop)
            self._threads = anyio.to_thread.current_default_thread_limiter()
            loop.call_soon(self._watch, 0, 0)
        return timer

    def _end(self, timer: _Timer) -> None:
        if not timer.done:
            timer.done = True
            self._sleepers -= timer.drives

    def _leave_other_loops(self, loop: asyncio.AbstractEventLoop) -> None:
        """What an earlier event loop left behind waits for nothing any more."""
        for timer in self._timers:
            if timer.loop is not loop:
                self._end(timer)

    def _watch(self, spins: int, polls: int, before: Mapping[object, object] | None = None) -> None:
        """Let everything else run first; then, when all wait, let the earliest sleep end."""
        while self._timers and self._timers[0].done:
            heapq.heappop(self._timers)
        if not self._timers:
            self._watched_by = None
            return
        loop = asyncio.get_running_loop()
        if _busy(loop, spins):
            loop.call_soon(self._watch, spins + 1, 0)
        elif (self._sleepers and not self._at_work()) or polls >= self._patience():
            self._fire_next()
            loop.call_soon(self._watch, 0, 0)
        else:
            now = _standing(loop)
            loop.call_later(IDLE_POLL_SECONDS, self._watch, 0, polls + 1 if now == before else 1, now)

    def _patience(self) -> int:
        """Polls without any task moving, after which the body hangs; a thread may well be waiting for a processor."""
        return IDLE_POLLS_WITH_THREADS if self._at_work() else IDLE_POLLS

    def _at_work(self) -> bool:
        return self._held.at_work > 0 or (self._threads is not None and self._threads.borrowed_tokens > 0)

    def _fire_next(self) -> None:
        timer = heapq.heappop(self._timers)
        if not timer.done:
            self._elapsed = max(self._elapsed, timer.due)
            self._end(timer)
            timer.fire()


def _busy(loop: asyncio.AbstractEventLoop, spins: int) -> bool:
    """Whether anything else can run, or the loop is about to stop, since whoever ran it has ended.

    asyncio has no public way to ask; without its queue it is given many turns instead.
    """
    if getattr(loop, "_stopping", False):
        return True
    ready = getattr(loop, "_ready", None)
    return bool(ready) if ready is not None else spins < SPINS_WITHOUT_QUEUE


def _standing(loop: asyncio.AbstractEventLoop) -> dict[object, object]:
    """What each task waits for: the same at two moments if none has moved in between."""
    return {task: getattr(task, "_fut_waiter", None) for task in asyncio.all_tasks(loop)}


class _Arrived:
    """An awaitable that has nothing to wait for."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield
