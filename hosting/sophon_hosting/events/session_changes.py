"""Changes of what is shown of a session (title, pin, archive), for all clients who may see it, whichever they joined.

Clients that joined the session hear it as one of its events. For the lists of the others the processes tell each other
which session it is, and each reads in the store what is shown of it.
"""

import logging
from collections.abc import Callable
from typing import TypeAlias

from sophon.events import SessionChanged
from sophon.failure_log import log_failure
from sophon.stores.sessions.contract import SessionStore, SessionSummary
from sophon_hosting.background_tasks import BackgroundTasks
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.fanout.contract import HostFanout, HostMessage, SessionLabelled

log = logging.getLogger("sophon")

ChangeListener: TypeAlias = Callable[[SessionChanged, str], None]
"""Called with the event and the owner of the session; must not block."""


class SessionChanges:
    """Publishes the changes of sessions to the event bus, to listeners, and to the other processes."""

    def __init__(self, sessions: SessionStore, event_bus: EventBus, fanout: HostFanout) -> None:
        self._sessions, self._event_bus, self._fanout = sessions, event_bus, fanout
        self._listeners: list[ChangeListener] = []
        self._tasks = BackgroundTasks()

    def start(self) -> None:
        """Hear of changes at other processes until `stop`."""
        self._fanout.subscribe(self._receive)

    async def stop(self) -> None:
        """Hear of none any more."""
        self._fanout.unsubscribe(self._receive)
        await self._tasks.stop()

    def subscribe(self, listener: ChangeListener) -> None:
        """Add a listener to the changes of all sessions."""
        self._listeners.append(listener)

    def publish(self, session: SessionSummary) -> None:
        """Publish what is shown of a session now."""
        self._event_bus.emit(build_event(session))
        self._tell(session)
        self._fanout.publish(SessionLabelled(session.id))

    def _tell(self, session: SessionSummary) -> None:
        event = build_event(session)
        for listener in self._listeners:
            listener(event, session.owner)

    def _receive(self, message: HostMessage) -> None:
        if isinstance(message, SessionLabelled) and self._listeners:
            self._tasks.start(self._read(message.session_id))

    async def _read(self, session_id: str) -> None:
        try:
            session = await self._sessions.find(session_id)
        except Exception as error:  # noqa: BLE001 - logged; a list shows it when it is read again
            log_failure(log, error, "what is shown of session %s could not be read", session_id)
            return
        if session is not None:
            self._tell(session)


def build_event(session: SessionSummary) -> SessionChanged:
    """Return the event that reports what is shown of a session."""
    return SessionChanged(
        session_id=session.id, title=session.shown_title, pinned=session.pinned, archived=session.archived
    )
