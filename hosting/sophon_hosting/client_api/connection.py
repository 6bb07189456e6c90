"""What an operation knows of the way by which it is asked: trace, end of the client, parts of the serving process."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from sophon.clock import Clock

if TYPE_CHECKING:
    from sophon_channels.contract import Channel

T = TypeVar("T")


class ServedProcess:
    """What the operations of one serving process share: its channels, and what single features keep in it.

    `attach_channel` starts a channel again that waits for its next start.
    """

    def __init__(self, channels: "Sequence[Channel]" = (), attach_channel: Callable[[str], bool] | None = None) -> None:
        self.channels, self.attach_channel = channels, attach_channel
        self._parts: dict[type[object], object] = {}

    def part(self, kind: type[T], make: Callable[[], T]) -> T:
        """Return the one part of a kind, which is made by the first operation that asks for it."""
        if kind not in self._parts:
            self._parts[kind] = make()
        return cast(T, self._parts[kind])


class Connection(Protocol):
    """How a client is connected, for one request or for many."""

    @property
    def process(self) -> ServedProcess:
        """The process that serves the client."""
        ...

    @property
    def trace(self) -> str:
        """Trace id of the request; empty if a new one is to be made."""
        ...

    @property
    def traceparent(self) -> str | None:
        """Trace context that the client sent."""
        ...

    async def wait_for_change(self, changed: asyncio.Event, deadline: float) -> bool:
        """Return True once `changed` is set; False at the deadline, in monotonic time, or if either end goes.

        Raises Unauthorized if the log-in of the client has ended meanwhile.
        """
        ...


class DirectConnection:
    """Connection of a caller in this process, which never goes away."""

    def __init__(self, clock: Clock, process: ServedProcess | None = None) -> None:
        self.process, self._clock = process or ServedProcess(), clock
        self.trace, self.traceparent = "", None

    async def wait_for_change(self, changed: asyncio.Event, deadline: float) -> bool:
        """See `Connection.wait_for_change`."""
        left = deadline - self._clock.monotonic()
        if left > 0:
            try:
                async with self._clock.timeout(left):
                    await changed.wait()
            except TimeoutError:
                return False
        return changed.is_set()
