"""Clock in the time of a simulated loop, one for each process: the clocks of two machines need not agree."""

import asyncio
import contextvars
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from sophon.testing.simulation.loop import SimulatedLoop
from sophon.testing.simulation.process import CURRENT_PROCESS

T = TypeVar("T")

START = datetime(2026, 1, 1, tzinfo=UTC)


class SimulatedClock:
    """`Clock` of one process of a simulated world; `offset` seconds beside the world's time, which begins in 2026."""

    def __init__(self, loop: SimulatedLoop, offset: float = 0.0) -> None:
        self._loop = loop
        self._start = START + timedelta(seconds=offset)

    def jump(self, seconds: float) -> None:
        """Change `now` alone, forward or backward, as a suspended computer or a correction of its time does."""
        self._start += timedelta(seconds=seconds)

    def now(self) -> datetime:
        """Return the time of this process."""
        return self._start + timedelta(seconds=self._loop.time())

    def monotonic(self) -> float:
        """Return the virtual seconds since the beginning of the world."""
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """Sleep in virtual time."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        """Return a scope that ends in virtual time."""
        return asyncio.timeout(seconds)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        """Call in virtual time, if the process lives; of the context nothing else is kept."""
        context = contextvars.Context()
        context.run(CURRENT_PROCESS.set, CURRENT_PROCESS.get())
        return self._loop.call_later(seconds, callback, context=context)

    async def run_in_thread(self, function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
        """Run in the loop, after the virtual time that a thread takes."""
        running = self._loop.run_in_executor(None, function)
        return await (running if abandon_on_cancel else asyncio.shield(running))

    def random(self) -> float:
        """Return the next number of the world's sequence."""
        return self._loop.random.random()

    def new_id(self) -> str:
        """Return 20 hexadecimal digits of the world's sequence."""
        return f"{self._loop.random.getrandbits(80):020x}"

    def new_nonce(self) -> str:
        """Return 16 hexadecimal digits of the world's sequence."""
        return f"{self._loop.random.getrandbits(64):016x}"
