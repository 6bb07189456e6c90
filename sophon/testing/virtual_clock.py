"""Virtual clock for tests: sleeps and timeouts run in virtual time."""

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

from sophon.testing.blocking_thread_runner import BlockingThreadRunner

T = TypeVar("T")

IDLE_POLL_SECONDS = 0.05
IDLE_POLLS = 5
IDLE_POLLS_WITH_THREADS = 40
SPINS_WITHOUT_QUEUE = 100


@dataclass(order=True, slots=True)
class _Timer:
    due: float
    order: int
    fire: Callable[[], object] = field(compare=False)
    is_sleep: bool = field(compare=False)
    """True for a sleep, which advances virtual time; false for a timeout, which fires when time passes it."""
    loop: asyncio.AbstractEventLoop = field(compare=False)
    done: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class _TimerHandle:
    """Timer of `call_later`."""

    end: Callable[[_Timer], None]
    timer: _Timer

    def cancel(self) -> None:
        """End the timer before it fires."""
        self.end(self.timer)


class VirtualClock:
    """`Clock` in virtual time for tests; starts at 2026-01-01 00:00 UTC, monotonic 0.

    With `auto` (the default) a sleep ends as soon as nothing else in the event loop can run, the earliest first, so
    that a test of hours takes microseconds. A timeout fires when a sleep advances time past it, or when no task of the
    loop has progressed for 0.25 real seconds: the body then hangs, and only its timeout can end it. A running worker
    thread delays both by up to two real seconds. Without `auto`, time changes only in `advance`.

    Identifiers and jitter come from `seed`: the same input, script and clock give the same event log.
    """

    def __init__(self, *, auto: bool = True, start: datetime | None = None, seed: int = 0) -> None:
        self._auto = auto
        self._start = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._elapsed = 0.0
        self._timers: list[_Timer] = []
        self._sleepers = 0
        self._threads: anyio.CapacityLimiter | None = None
        self._thread_runner = BlockingThreadRunner()
        self._order = itertools.count()
        self._ids = itertools.count(1)
        self._random = random.Random(seed)  # noqa: S311 - reproducible randomness for tests
        self._nonces = random.Random(f"nonces of {seed}")  # noqa: S311 - the same
        self._watched_loop: asyncio.AbstractEventLoop | None = None
        self.slept: list[float] = []
        """Duration of every requested sleep in seconds, in order."""

    def now(self) -> datetime:
        """Return the current virtual time."""
        return self._start + timedelta(seconds=self._elapsed)

    def jump(self, seconds: float) -> None:
        """Change `now` alone, forward or backward, as a suspended computer or a correction of its time does."""
        self._start += timedelta(seconds=seconds)

    def monotonic(self) -> float:
        """Return the virtual seconds since the start."""
        return self._elapsed

    def random(self) -> float:
        """Return the next number of the seeded sequence."""
        return self._random.random()

    def new_id(self) -> str:
        """Return 1, 2, 3, ... as 20 hexadecimal digits."""
        return f"{next(self._ids):020x}"

    def new_nonce(self) -> str:
        """Return the next 16 hexadecimal digits of a seeded sequence, which is independent of ids and jitter."""
        return f"{self._nonces.getrandbits(64):016x}"

    async def sleep(self, seconds: float) -> None:
        """Sleep in virtual time."""
        self.slept.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        timer = self._add(seconds, wake, is_sleep=True)
        try:
            await woken
        finally:
            self._end(timer)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        """Return a scope as `Clock.timeout` does, in virtual time."""
        return self._timeout(seconds)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> "_TimerHandle":
        """Call `callback` in virtual time, when a timeout of as many seconds would fire."""
        return _TimerHandle(self._end, self._add(seconds, callback, is_sleep=False))

    async def run_in_thread(self, function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
        """Run as `Clock.run_in_thread`; the event loop is blocked until the function ends: see
        `BlockingThreadRunner`.
        """
        return await self._thread_runner.run(function, abandon_on_cancel=abandon_on_cancel)

    def advance(self, seconds: float) -> Awaitable[None]:
        """Advance time by `seconds`; timers that become due fire in order, and the tasks that they wake run.

        Awaiting it returns when no task can run any more. Time advances without awaiting too: immediately if nothing
        can run and no timer is due, else while the loop continues.
        """
        target = self._elapsed + seconds
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._elapsed = target
            return _CompletedAwaitable()
        reached: asyncio.Future[None] = loop.create_future()
        if getattr(loop, "_ready", True) or self._due(target):
            loop.call_soon(self._step, loop, target, SPINS_WITHOUT_QUEUE, reached)
        else:
            self._elapsed = target
            reached.set_result(None)
        return reached

    def _due(self, target: float) -> bool:
        self._drop_ended_timers()
        return bool(self._timers) and self._timers[0].due <= target

    def _step(self, loop: asyncio.AbstractEventLoop, target: float, spins: int, reached: asyncio.Future[None]) -> None:
        """Run all ready tasks, then fire the next due timer, until the target is reached and no task is ready."""
        if spins:
            loop.call_soon(self._step, loop, target, spins - 1, reached)
        elif self._due(target):
            self._fire_next()
            loop.call_soon(self._step, loop, target, SPINS_WITHOUT_QUEUE, reached)
        else:
            self._elapsed = max(self._elapsed, target)
            if not reached.done():
                reached.set_result(None)

    @asynccontextmanager
    async def _timeout(self, seconds: float | None) -> AsyncGenerator[asyncio.Timeout]:
        async with asyncio.timeout(0 if seconds is not None and seconds <= 0 else None) as scope:
            if seconds is None or seconds <= 0:
                yield scope
                return
            loop = asyncio.get_running_loop()
            timer = self._add(seconds, lambda: scope.reschedule(loop.time()), is_sleep=False)
            try:
                yield scope
            finally:
                self._end(timer)

    def _add(self, seconds: float, fire: Callable[[], object], *, is_sleep: bool) -> _Timer:
        loop = asyncio.get_running_loop()
        timer = _Timer(self._elapsed + seconds, next(self._order), fire, is_sleep, loop)
        heapq.heappush(self._timers, timer)
        self._sleepers += is_sleep
        if self._auto and self._watched_loop is not loop:
            self._watched_loop = loop
            self._end_timers_of_other_loops(loop)
            self._threads = anyio.to_thread.current_default_thread_limiter()
            loop.call_soon(self._watch, 0, 0)
        return timer

    def _end(self, timer: _Timer) -> None:
        if not timer.done:
            timer.done = True
            self._sleepers -= timer.is_sleep

    def _drop_ended_timers(self) -> None:
        """Remove the earliest timers if they have ended: they are not due."""
        while self._timers and self._timers[0].done:
            heapq.heappop(self._timers)

    def _end_timers_of_other_loops(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the timers of earlier event loops."""
        for timer in self._timers:
            if timer.loop is not loop:
                self._end(timer)

    def _watch(self, spins: int, polls: int, before: Mapping[object, object] | None = None) -> None:
        """Run all other ready tasks first; when all tasks wait, fire the earliest timer."""
        self._drop_ended_timers()
        if not self._timers:
            self._watched_loop = None
            return
        loop = asyncio.get_running_loop()
        if _is_busy(loop, spins):
            loop.call_soon(self._watch, spins + 1, 0)
        elif (self._sleepers and not self._has_running_thread()) or polls >= self._poll_limit():
            self._fire_next()
            loop.call_soon(self._watch, 0, 0)
        else:
            now = _snapshot_waiters(loop)
            loop.call_later(IDLE_POLL_SECONDS, self._watch, 0, polls + 1 if now == before else 1, now)

    def _poll_limit(self) -> int:
        """Return the number of polls without progress after which the body counts as hanging; more if a thread runs."""
        return IDLE_POLLS_WITH_THREADS if self._has_running_thread() else IDLE_POLLS

    def _has_running_thread(self) -> bool:
        return self._thread_runner.running > 0 or (self._threads is not None and self._threads.borrowed_tokens > 0)

    def _fire_next(self) -> None:
        timer = heapq.heappop(self._timers)
        if not timer.done:
            self._elapsed = max(self._elapsed, timer.due)
            self._end(timer)
            timer.fire()


def _is_busy(loop: asyncio.AbstractEventLoop, spins: int) -> bool:
    """Return whether anything else can run, or the loop is about to stop because its main task has ended.

    asyncio has no public API for it. Its private name buys that time moves neither too early, however long a chain of
    ready callbacks is, nor after a hundred passes only; on a loop without `_ready`, SPINS_WITHOUT_QUEUE passes are run.
    """
    if getattr(loop, "_stopping", False):
        return True
    ready = getattr(loop, "_ready", None)
    return bool(ready) if ready is not None else spins < SPINS_WITHOUT_QUEUE


def _snapshot_waiters(loop: asyncio.AbstractEventLoop) -> dict[object, object]:
    """Return what each task waits for; unchanged between two calls if no task has progressed."""
    return {task: getattr(task, "_fut_waiter", None) for task in asyncio.all_tasks(loop)}


class _CompletedAwaitable:
    """Awaitable that completes immediately."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield
