"""Contract of a fan-out: what one host process tells the others, best effort; the store is the truth."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from sophon_hosting.fanout.host_messages import (
    HintsLost,
    HostMessage,
    RunSignalled,
    SessionAdvanced,
    SessionLabelled,
    SessionRemoved,
    SnapshotWanted,
    StreamedText,
    TransientEvent,
    Wake,
    WatchStarted,
    WireMessage,
)

FanoutListener: TypeAlias = Callable[[HostMessage], None]
"""Callback for messages of other hosts; it is called in order of arrival and must not block."""


class HostFanout(Protocol):
    """Messages between the host processes of one deployment. They may be lost, and are never repeated to who sent them.

    The messages of one host arrive in the order in which it published them. After each loss that a fan-out notices, its
    listeners get `HintsLost`.
    """

    @property
    def reaches_others(self) -> bool:
        """Whether there can be other hosts; without, nobody needs to poll for what they do."""
        ...

    @property
    def is_connected(self) -> bool:
        """Whether messages are passed on now; for health checks."""
        ...

    async def open(self) -> None:
        """Begin to connect, in the background: a server that is away is no error."""
        ...

    async def close(self) -> None:
        """Send what waits, if the server answers, and disconnect."""
        ...

    def publish(self, message: WireMessage) -> None:
        """Send a message to the other hosts, soon; never blocks and never raises.

        The oldest messages are dropped when too many wait.
        """
        ...

    def subscribe(self, listener: FanoutListener) -> None:
        """Add a listener, also before `open`; one that fails is logged and stays."""
        ...

    def unsubscribe(self, listener: FanoutListener) -> None:
        """Remove a listener."""
        ...

    def watch_session(self, session_id: str) -> None:
        """Receive the messages of a session too, until `unwatch_session`. `WatchStarted` says from when on."""
        ...

    def unwatch_session(self, session_id: str) -> None:
        """Undo `watch_session`; no error for a session that is not watched."""
        ...

    def watch_all_sessions(self, wanted: bool, /) -> None:
        """Receive the messages of all sessions, or no longer."""
        ...


class NoFanout:
    """Fan-out of a deployment with one process: there is nobody to tell."""

    reaches_others = False
    is_connected = True

    async def open(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    def publish(self, message: WireMessage) -> None:
        """Do nothing."""

    def subscribe(self, listener: FanoutListener) -> None:
        """Do nothing: there are no messages."""

    def unsubscribe(self, listener: FanoutListener) -> None:
        """Do nothing."""

    def watch_session(self, session_id: str) -> None:
        """Do nothing."""

    def unwatch_session(self, session_id: str) -> None:
        """Do nothing."""

    def watch_all_sessions(self, wanted: bool, /) -> None:
        """Do nothing."""


__all__ = [
    "FanoutListener",
    "HintsLost",
    "HostFanout",
    "HostMessage",
    "NoFanout",
    "RunSignalled",
    "SessionAdvanced",
    "SessionLabelled",
    "SessionRemoved",
    "SnapshotWanted",
    "StreamedText",
    "TransientEvent",
    "Wake",
    "WatchStarted",
    "WireMessage",
]
