"""Event loop with virtual time and seeded order: the same seed runs the same callbacks in the same order.

Time stands still while a callback can run, and moves to the next timer when none can, so that an hour of waiting costs
nothing. Among the callbacks that can run the seed chooses: tasks are taken in any order, as nothing promises that one
task continues before another; plain callbacks keep theirs, which asyncio promises. What a thread would do is done in
the loop after a seeded delay. Nothing is read from the outside world: a thread, a socket or a program that tries to
reach the loop is an error, as it would make a history unrepeatable.
"""

import asyncio
import contextvars
import gc
import heapq
import os
import random
import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

from sophon.testing.simulation.entropy import seeded_entropy
from sophon.testing.simulation.process import CURRENT_PROCESS, SimulatedProcess

T = TypeVar("T")

MAX_CALLBACKS = 5_000_000
"""Callbacks after which a history counts as one that does not end."""

THREAD_SECONDS = (0.0001, 0.02)
"""Shortest and longest virtual time that a function in a thread takes."""

CALLBACK_SECONDS = 1e-6
"""Virtual time that a callback takes: whoever asks again at once whether it is time must see it pass."""


class SimulationStuck(RuntimeError):
    """Error: nothing can run any more and no timer is due, or a history does not end."""


class SimulatedTask(asyncio.Task[T]):
    """Task whose place in a set follows from its number in the world, not from its address in memory."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], *, loop: "SimulatedLoop", **options: Any) -> None:
        self._number = loop.draw_number()
        super().__init__(coroutine, loop=loop, **options)

    def __hash__(self) -> int:
        return self._number


class SimulatedFuture(asyncio.Future[T]):
    """Future whose place in a set follows from its number in the world, not from its address in memory."""

    def __init__(self, loop: "SimulatedLoop") -> None:
        self._number = loop.draw_number()
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number


class SimulatedLoop(asyncio.BaseEventLoop):
    """asyncio's event loop in virtual time; `random` is the source of all its decisions.

    With `shuffles` tasks that can run are taken in any order, else in the order in which they became ready.
    """

    # Of asyncio.BaseEventLoop, in every version from 3.11 to 3.14.
    _ready: deque[asyncio.Handle]
    _scheduled: list[Any]
    _timer_cancelled_count: int

    def __init__(self, seed: int, *, shuffles: bool = True) -> None:
        super().__init__()
        self.random = random.Random(seed)  # noqa: S311 - repeatable decisions of a simulation
        self.shuffles = shuffles
        self.callbacks = 0
        """How many callbacks have run."""
        self.on_death: list[Callable[[SimulatedProcess], None]] = []
        """Called when a process has died."""
        self._now = 0.0
        self._numbers = 0
        self._own_thread = threading.get_ident()
        self._clock_resolution = CALLBACK_SECONDS
        self.set_exception_handler(_ignore_the_dead)
        self.set_task_factory(_create_task)

    def time(self) -> float:
        """Return the virtual seconds since the beginning of the world."""
        return self._now

    def start_process(self, name: str, main: Coroutine[Any, Any, T]) -> "tuple[SimulatedProcess, asyncio.Task[T]]":
        """Run a coroutine as the first task of a new process."""
        process = SimulatedProcess(name)
        token = CURRENT_PROCESS.set(process)
        try:
            task = self.create_task(main)
        finally:
            CURRENT_PROCESS.reset(token)
        return process, task

    def kill(self, process: SimulatedProcess) -> None:
        """End a process at once, as SIGKILL does."""
        if process.is_dead:
            return
        process.is_dead = True
        for callback in self.on_death:
            callback(process)

    def stop_process(self, process: SimulatedProcess, seconds: float) -> None:
        """Let a process stand still for a while, as SIGSTOP and SIGCONT do: what became due meanwhile runs late."""
        if process.is_dead or process.is_stopped:
            return
        process.is_stopped = True

        def go_on() -> None:
            process.is_stopped = False
            self._ready.extend(process.waiting)
            process.waiting.clear()

        self.call_later(seconds, go_on, context=contextvars.Context())

    def draw_number(self) -> int:
        """Return the next number of a task or future."""
        self._numbers += 1
        return self._numbers

    def create_future(self) -> "asyncio.Future[Any]":
        """Create a future of this loop."""
        return SimulatedFuture(self)

    def create_task(self, coroutine: Coroutine[Any, Any, T], **options: Any) -> "asyncio.Task[T]":  # type: ignore[override]
        """Create a task of the process that creates it; it is kept until it ends, also by a process that is dead."""
        task: asyncio.Task[T] = super().create_task(coroutine, **options)
        context = options.get("context")
        process = CURRENT_PROCESS.get() if context is None else context.get(CURRENT_PROCESS)
        if process is not None:
            process.tasks.add(task)
            task.add_done_callback(process.tasks.discard)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, function: Callable[..., T], *arguments: Any
    ) -> "asyncio.Future[T]":
        """Run a function in the loop, after the virtual time that a thread takes for it."""
        result: asyncio.Future[T] = self.create_future()

        def run() -> None:
            if result.cancelled():
                return
            try:
                value = function(*arguments)
            except BaseException as error:  # noqa: BLE001 - raised where it is awaited
                result.set_exception(error)
            else:
                result.set_result(value)

        self.call_later(self.random.uniform(*THREAD_SECONDS), run)
        return result

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *arguments: Any, context: Any = None
    ) -> asyncio.Handle:
        """Call soon; raise RuntimeError in another thread, whose speed is no part of a history."""
        if threading.get_ident() != self._own_thread:
            raise RuntimeError(f"a real thread calls {callback!r} of a simulated loop")
        return self.call_soon(callback, *arguments, context=context)

    def end(self) -> None:
        """End the world: nothing of it runs any more, and what finalisation asks for never happens."""
        self._ready.clear()
        self._scheduled.clear()
        self.on_death.clear()
        self.close()
        self._check_closed = _do_nothing

    def _run_once(self) -> None:
        # Replaces that of asyncio, which waits for sockets in real time.
        ready, scheduled = self._ready, self._scheduled
        while scheduled and (scheduled[0]._when <= self._now or scheduled[0]._cancelled):
            timer = heapq.heappop(scheduled)
            timer._scheduled = False
            if timer._cancelled:
                self._timer_cancelled_count -= 1
            else:
                ready.append(timer)
        if not ready:
            self._move_time()
            return
        handle: Any = ready.popleft() if len(ready) == 1 or not self.shuffles else self._take_next()
        if handle._cancelled:
            return
        process: SimulatedProcess | None = handle._context.get(CURRENT_PROCESS)
        if process is not None:
            if process.is_dead:
                process.kept.append(handle)
                return
            if process.is_stopped:
                process.waiting.append(handle)
                return
            process.steps += 1
        self.callbacks += 1
        self._now += CALLBACK_SECONDS
        if self.callbacks > MAX_CALLBACKS:
            raise SimulationStuck(f"{MAX_CALLBACKS} callbacks after {self._now:.0f} virtual seconds, and no end")
        handle._run()
        if process is not None and process.dies_at is not None and process.steps >= process.dies_at:
            self.kill(process)

    def _take_next(self) -> asyncio.Handle:
        ready = self._ready
        index = int(self.random.random() * len(ready))
        if index and not _is_task_step(ready[index]):
            index = next(place for place, each in enumerate(ready) if not _is_task_step(each))
        handle = ready[index]
        del ready[index]
        return handle

    def _move_time(self) -> None:
        if not self._scheduled:
            raise SimulationStuck(f"nothing can run any more after {self._now:.3f} virtual seconds")
        self._now = max(self._now, self._scheduled[0]._when)

    def _process_events(self, event_list: object) -> None:
        """Do nothing: there are no sockets."""

    def _write_to_self(self) -> None:
        """Do nothing: nobody waits in a system call."""


def simulate(main: Callable[[SimulatedLoop], Coroutine[Any, Any, T]], seed: int, *, shuffles: bool = True) -> T:
    """Run `main` in a world of its own, and return its result.

    Garbage is not collected meanwhile: what a collection finalises would depend on earlier worlds. At the end of
    the scope `finalised` it is.
    Raises SimulationStuck if it waits for what cannot happen, besides what `main` raises.
    """
    loop = SimulatedLoop(seed, shuffles=shuffles)
    collects = gc.isenabled()
    gc.disable()
    try:
        with seeded_entropy(seed):
            asyncio.set_event_loop(loop)
            try:
                return loop.run_until_complete(main(loop))
            finally:
                loop.end()
                asyncio.set_event_loop(None)
    finally:
        if collects:
            gc.enable()


@contextmanager
def finalised() -> Generator[None]:
    """Finalise what is left of worlds at the end of the scope; what `finally` blocks of the dead raise is ignored."""
    with patch.object(sys, "unraisablehook", _ignore):
        try:
            yield
        finally:
            gc.collect()


def _create_task(loop: Any, coroutine: Any, **options: Any) -> "asyncio.Task[Any]":
    return SimulatedTask(coroutine, loop=loop, **options)


def _is_task_step(handle: asyncio.Handle) -> bool:
    return isinstance(getattr(handle._callback, "__self__", None), asyncio.Task)  # type: ignore[attr-defined]


def _do_nothing() -> None:
    """Let what is finalised schedule what it likes."""


def _ignore(_: object) -> None:
    """Ignore what the `finally` blocks of dead coroutines raise: they never run in the world."""


def _ignore_the_dead(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if os.environ.get("SOPHON_SIMULATION_ERRORS"):
        loop.default_exception_handler(context)
