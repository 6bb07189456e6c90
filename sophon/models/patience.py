"""How long an adapter waits for its provider: for a whole answer, or for the next piece of a streamed one."""

import asyncio
from types import TracebackType
from typing import Self

from sophon.errors import ModelTimeout


class Patience:
    """A scope that ends with ModelTimeout when nothing was heard for `seconds`; `heard()` begins the time anew.

    It runs on the loop's own time and not on the services' clock: what it waits for is a network.
    """

    __slots__ = ("_scope", "_seconds")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._scope = asyncio.timeout(seconds)

    def heard(self) -> None:
        """A piece has come."""
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
            raise ModelTimeout(f"nothing came for {self._seconds:g} s") from expired
