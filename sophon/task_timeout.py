"""Timeout of a part of a task, whose time can be paused while a person decides."""

import asyncio
from types import TracebackType
from typing import Self

from sophon.clock import Clock, Timer


class TaskTimeout:
    """`asyncio.timeout` in the time of a `Clock`, whose time can be paused; None for no time of its own.

    It buys that the minutes in which a person decides are nobody's timeout. The time between `pause` and `resume` does
    not count; they nest, and a scope that is not open is not affected.
    """

    __slots__ = ("_clock", "_ends_at", "_is_open", "_pauses", "_scope", "_seconds", "_timer")

    _ends_at: float
    """Time of the clock at which it expires, while its time runs."""

    def __init__(self, clock: Clock, seconds: float | None) -> None:
        self._clock = clock
        self._seconds = seconds
        self._pauses = 0
        self._timer: Timer | None = None
        self._is_open = False
        self._scope = asyncio.timeout(None)

    def expired(self) -> bool:
        """Return whether the time passed while the body ran, whatever the body then did."""
        return self._scope.expired()

    def pause(self) -> None:
        """Stop the time of the body; each call needs a matching `resume`."""
        self._pauses += 1
        if self._pauses == 1 and self._is_open and not self._scope.expired():
            self._stop()
            self._scope.reschedule(None)  # if the time has passed, but the body is not cancelled yet
            if self._seconds is not None:
                self._seconds = self._ends_at - self._clock.monotonic()

    def resume(self) -> None:
        """End one `pause`; after the last one the rest of the time begins, if the body still runs."""
        self._pauses -= 1
        if not self._pauses and self._is_open and not self.expired():
            self._start()

    def _start(self) -> None:
        if self._seconds is None:
            return
        self._ends_at = self._clock.monotonic() + self._seconds
        if self._seconds <= 0:
            self._expire()
        else:
            self._timer = self._clock.call_later(self._seconds, self._on_timer)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timer(self) -> None:
        self._timer = None
        self._expire()

    def _expire(self) -> None:
        self._scope.reschedule(asyncio.get_running_loop().time())

    async def __aenter__(self) -> Self:
        await self._scope.__aenter__()
        self._is_open = True
        self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        self._stop()
        await self._scope.__aexit__(kind, error, trace)
