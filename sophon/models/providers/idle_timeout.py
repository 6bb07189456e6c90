"""Idle timeout of an adapter: for a whole response, or between two chunks of a streamed one."""

import asyncio
from types import TracebackType
from typing import Self

from sophon.errors import ModelTimeout


class IdleTimeout:
    """Async context manager that raises ModelTimeout after `seconds` without data; `reset` restarts the timeout.

    It uses the event loop's time and not the services' clock, because it waits for the network.
    """

    __slots__ = ("_scope", "_seconds")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._scope = asyncio.timeout(seconds)

    def reset(self) -> None:
        """Restart the timeout because data has arrived."""
        if not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time() + self._seconds)

    async def __aenter__(self) -> Self:
        await self._scope.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._scope.__aexit__(kind, error, trace)
        except TimeoutError as expired:
            raise ModelTimeout(f"no data was received for {self._seconds:g} s") from expired
