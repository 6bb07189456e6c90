"""Contract of a transport: one connection to a server that passes payloads on to all processes."""

from collections.abc import Callable, Sequence, Set
from typing import Protocol, TypeAlias

Receive: TypeAlias = Callable[[bytes], None]
"""Takes the payload of a frame, also one of this process."""

Watching: TypeAlias = Callable[[str], None]
"""Takes a session id, whose messages arrive from now on."""


class TransportLost(Exception):
    """Error: the server is not reached; the text says why, without secrets."""


class FanoutTransport(Protocol):
    """A connection that can be opened again after it was lost; all methods but `close` raise TransportLost."""

    name: str
    """The server's name for messages, without secrets."""
    max_payload_bytes: int

    async def open(self, receive: Receive, on_watching: Watching) -> None:
        """Connect, and receive what is for all hosts."""
        ...

    async def watch(self, sessions: Set[str], *, all_sessions: bool) -> None:
        """Receive the frames of these sessions, or of all, and no others."""
        ...

    async def send(self, frames: Sequence[tuple[str | None, bytes]]) -> None:
        """Send frames to the watchers of a session (None: to all hosts), in order."""
        ...

    async def receive_forever(self) -> None:
        """Receive until the connection is lost."""
        ...

    async def close(self) -> None:
        """Disconnect; never raises."""
        ...
