"""Listeners of a fan-out and what it watches: shared by all fan-outs."""

import logging

from sophon_hosting.fanout.contract import FanoutListener
from sophon_hosting.fanout.messages import HostMessage, topic_of

log = logging.getLogger("sophon")


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
