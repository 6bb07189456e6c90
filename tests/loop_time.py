"""Time of the running event loop that a test advances: timers that become due run in the next pass of the loop."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self


class LoopTime:
    """Context manager; within it `advance` puts the clock of the running event loop forward."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._real_time: Callable[[], float] = self._loop.time
        self._advanced = 0.0

    def __enter__(self) -> Self:
        self._loop.time = lambda: self._real_time() + self._advanced  # type: ignore[method-assign]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        del self._loop.time

    def advance(self, seconds: float) -> None:
        """Put the clock forward."""
        self._advanced += seconds

    async def advance_after(self, event: asyncio.Event, seconds: float) -> None:
        """Put the clock forward as soon as an event is set."""
        await event.wait()
        self.advance(seconds)
