"""Local fan-out: links several hosts of one process, for tests and for programs that embed several hosts."""

import asyncio
import logging
from collections.abc import Sequence

from sophon_hosting.fanout.contract import FanoutListener
from sophon_hosting.fanout.host_messages import HostMessage, WatchStarted, WireMessage, topic_of

log = logging.getLogger("sophon")


class LocalNetwork:
    """The hosts that are linked. While `is_cut`, messages between them are lost."""

    def __init__(self) -> None:
        self.members: list[LocalFanout] = []
        self.is_cut = False

    def pass_on(self, sender: "LocalFanout", message: HostMessage) -> None:
        """Pass a message to all others."""
        others: Sequence[LocalFanout] = [each for each in self.members if each is not sender]
        for member in () if self.is_cut else others:
            member.receive(message)


class LocalFanout:
    """One host's end of a local network; messages arrive in the next turn of the event loop."""

    reaches_others = True

    def __init__(self, network: LocalNetwork) -> None:
        self._network = network
        self._listeners = FanoutListeners()

    @property
    def is_connected(self) -> bool:
        """Whether the network passes messages on."""
        return not self._network.is_cut and self in self._network.members

    async def open(self) -> None:
        """Join the network."""
        self._network.members.append(self)

    async def close(self) -> None:
        """Leave the network."""
        if self in self._network.members:
            self._network.members.remove(self)

    def publish(self, message: WireMessage) -> None:
        """Pass a message to the others."""
        self._network.pass_on(self, message)

    def receive(self, message: HostMessage) -> None:
        """Take a message of another host."""
        if self._listeners.wants(message):
            asyncio.get_running_loop().call_soon(self._listeners.tell, message)

    def subscribe(self, listener: FanoutListener) -> None:
        """See `HostFanout`."""
        self._listeners.add(listener)

    def unsubscribe(self, listener: FanoutListener) -> None:
        """See `HostFanout`."""
        self._listeners.remove(listener)

    def watch_session(self, session_id: str) -> None:
        """See `HostFanout`."""
        self._listeners.sessions.add(session_id)
        asyncio.get_running_loop().call_soon(self._listeners.tell, WatchStarted(session_id))

    def unwatch_session(self, session_id: str) -> None:
        """See `HostFanout`."""
        self._listeners.sessions.discard(session_id)

    def watch_all_sessions(self, wanted: bool, /) -> None:
        """See `HostFanout`."""
        self._listeners.wants_all = wanted


class FanoutListeners:
    """Listeners, and the sessions whose messages they want."""

    def __init__(self) -> None:
        self._listeners: list[FanoutListener] = []
        self.sessions: set[str] = set()
        self.wants_all = False

    def add(self, listener: FanoutListener) -> None:
        """Add a listener."""
        self._listeners.append(listener)

    def remove(self, listener: FanoutListener) -> None:
        """Remove a listener."""
        self._listeners.remove(listener)

    def wants(self, message: HostMessage) -> bool:
        """Return whether a message is for all hosts, or of a session that is watched."""
        topic = topic_of(message)
        return topic is None or self.wants_all or topic in self.sessions

    def tell(self, message: HostMessage) -> None:
        """Pass a message to all listeners in order; a failing one is logged and skipped."""
        for listener in list(self._listeners):
            try:
                listener(message)
            except Exception:
                log.exception("a listener failed on the message %s of another host", type(message).__name__)
