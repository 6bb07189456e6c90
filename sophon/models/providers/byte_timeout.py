"""Timeout of an adapter between two pieces of data: for a whole response, or between two chunks of a streamed one."""

import asyncio
import contextvars
from types import TracebackType
from typing import Self

from sophon.errors import ModelTimeout


class ByteTimeout:
    """Async context manager that raises ModelTimeout after `seconds` without data; `reset` restarts the timeout.

    A chunk of a stream costs the look at the time and no timer, which buys 3 of its 8 us: `asyncio.timeout` is
    rescheduled when the time that the first chunk had is over, and not at each. It uses the event loop's time and not
    the services' clock, because it waits for the network.
    """

    __slots__ = ("_loop", "_scope", "_seconds", "_since", "_timer")

    _since: float
    _timer: asyncio.TimerHandle

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._scope = asyncio.timeout(None)
        self._loop = asyncio.get_running_loop()

    def reset(self) -> None:
        """Restart the timeout because data has arrived."""
        self._since = self._loop.time()

    def _check(self) -> None:
        """Cancel the body if the time has passed since the last data; otherwise check again when it would have."""
        left = self._since + self._seconds - self._loop.time()
        if left <= 0:
            self._scope.reschedule(self._loop.time())
        else:
            # In a context of its own: that of a turn must not live as long as a timer.
            self._timer = self._loop.call_later(left, self._check, context=contextvars.Context())

    async def __aenter__(self) -> Self:
        self.reset()
        await self._scope.__aenter__()
        self._timer = self._loop.call_later(self._seconds, self._check, context=contextvars.Context())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        try:
            await self._scope.__aexit__(kind, error, trace)
        except TimeoutError as expired:
            raise ModelTimeout(f"no data was received for {self._seconds:g} s") from expired
