"""Idle timeout of an adapter: for a whole response, or between two chunks of a streamed one."""

import asyncio
from types import TracebackType
from typing import Self

from sophon.errors import ModelTimeout

CHECK_SECONDS = 0.25
"""Shortest time between two checks of the timeouts: one ends at most that much late."""


class IdleTimeout:
    """Async context manager that raises ModelTimeout after `seconds` without data; `reset` restarts the timeout.

    All timeouts of an event loop share one timer: a chunk of a stream costs the look at the time, and a response no
    timer of its own. It uses the event loop's time and not the services' clock, because it waits for the network.
    """

    __slots__ = ("_checks", "_loop", "_scope", "_seconds", "_since")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._scope = asyncio.timeout(None)
        self._loop = asyncio.get_running_loop()
        self._checks = _checks_of(self._loop)
        self._since = 0.0

    @property
    def deadline(self) -> float:
        """Time of the event loop at which it expires unless it is reset."""
        return self._since + self._seconds

    def reset(self) -> None:
        """Restart the timeout because data has arrived."""
        self._since = self._loop.time()

    def expire(self) -> None:
        """Cancel the body; its exit raises ModelTimeout."""
        self._scope.reschedule(self._loop.time())

    async def __aenter__(self) -> Self:
        self.reset()
        await self._scope.__aenter__()
        self._checks.add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._checks.discard(self)
        try:
            await self._scope.__aexit__(kind, error, trace)
        except TimeoutError as expired:
            raise ModelTimeout(f"no data was received for {self._seconds:g} s") from expired


class IdleChecks:
    """Shared timer of the idle timeouts of one event loop; it runs only while there are any.

    It is due when the first timeout can expire, and not at each reset: with timeouts of two minutes it fires about
    every two minutes, however many streams are read.
    """

    __slots__ = ("_loop", "_timer", "_watched")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watched: set[IdleTimeout] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, timeout: IdleTimeout) -> None:
        """Watch a timeout that has begun."""
        self._watched.add(timeout)
        at = max(timeout.deadline, self._loop.time() + CHECK_SECONDS)
        if self._timer is None or at < self._timer.when() - CHECK_SECONDS:
            self._schedule(at)

    def discard(self, timeout: IdleTimeout) -> None:
        """Stop watching a timeout. The timer stays: most likely the next response needs it."""
        self._watched.discard(timeout)

    def _check(self) -> None:
        self._timer = None
        now = self._loop.time()
        for timeout in [each for each in self._watched if each.deadline <= now]:
            self._watched.discard(timeout)
            timeout.expire()
        if self._watched:
            self._schedule(max(min(each.deadline for each in self._watched), now + CHECK_SECONDS))

    def _schedule(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._check)


_checks_by_loop: dict[asyncio.AbstractEventLoop, IdleChecks] = {}


def _checks_of(loop: asyncio.AbstractEventLoop) -> IdleChecks:
    checks = _checks_by_loop.get(loop)
    if checks is None:
        for ended in [each for each in _checks_by_loop if each.is_closed()]:
            del _checks_by_loop[ended]
        checks = _checks_by_loop[loop] = IdleChecks(loop)
    return checks
