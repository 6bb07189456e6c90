"""Connection of a caller: trace context, subscriptions, long polls, and state of the serving process."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from sophon.clock import Clock
from sophon.errors import InputError

if TYPE_CHECKING:
    from sophon_channels.contract import Channel
    from sophon_hosting.events.missed_events import MissedEvents

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


class Subscriptions(Protocol):
    """Sessions whose events a connection gets, of the host that stores and of that of conversations off the record."""

    async def join(self, session_id: str, last_seq: int, *, is_off_the_record: bool) -> "MissedEvents":
        """Subscribe to a session, which is created if it does not exist; return the events after `last_seq`.

        Raises what `UserSessions.find_or_create` raises; there is no subscription then, even if there was one.
        """
        ...

    def leave(self, session_id: str) -> None:
        """Unsubscribe from a session, on either host."""
        ...

    def during(self, *, is_off_the_record: bool) -> AbstractAsyncContextManager[Callable[[str], Awaitable[None]]]:
        """Give a function that subscribes to a session by its stored id, instead of the one that it was called with
        before. If the block raises, the subscriptions are as they were.
        """
        ...


class Connection(Protocol):
    """How a client is connected, for one request or for many."""

    @property
    def subscriptions(self) -> Subscriptions | None:
        """Sessions whose events the client gets; None for a client that gets none, as over HTTP."""
        ...

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


def get_subscriptions(connection: Connection) -> Subscriptions:
    """Return the subscriptions of a connection. Raises InputError for one that gets no events."""
    if connection.subscriptions is None:
        raise InputError("only a connection over Socket.IO gets the events of sessions")
    return connection.subscriptions


class DirectConnection:
    """Connection of a caller in this process, which never goes away."""

    def __init__(self, clock: Clock, process: ServedProcess | None = None) -> None:
        self.process, self._clock = process or ServedProcess(), clock
        self.trace, self.traceparent = "", None
        self.subscriptions: Subscriptions | None = None

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
