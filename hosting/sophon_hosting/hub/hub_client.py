"""Connections and clients of the hub: a connection has one client per namespace, which subscribes to sessions."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from sophon.errors import SessionTaken
from sophon.events import SessionDeleted, event_type
from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.scoped_session_ids import to_client_events
from sophon_hosting.client_api.user_sessions import SESSION_TRIES
from sophon_hosting.events.missed_events import MissedEvents
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.hub.sending.client_send_buffer import SendBuffer
from sophon_hosting.hub.sending.event_encoding import EventEncoder

CHAT_NAMESPACE = "/"
OPERATOR_NAMESPACE = "/operator"


class HubConnection:
    """One Engine.IO connection.

    Its messages are processed in order, one at a time, under the lock `receive_lock`. `pending_attachments` is the
    number of binary messages still to come for a packet that was refused.
    """

    def __init__(self, connection_id: str, address: str, send_buffer: SendBuffer) -> None:
        self.id, self.address, self.send_buffer = connection_id, address, send_buffer
        self.clients: dict[str, HubClient] = {}
        """Clients by namespace."""
        self.receive_lock = asyncio.Lock()
        self.pending_attachments = 0
        self.is_lost = False
        """Whether the client is gone without a word; what it sent before is still processed, as a cancel."""


class HubClient:
    """An authenticated client in one namespace; `sessions` has the stored ids of the sessions it is subscribed to.

    These are the `Subscriptions` of its callers.
    """

    def __init__(self, connection: HubConnection, namespace: str, caller: Caller, encoder: EventEncoder) -> None:
        self.connection, self.namespace, self.caller = connection, namespace, caller
        self._event_bus, self._encoder = caller.host.event_bus, encoder
        self.sessions: set[str] = set()
        self._own_sessions: set[str] = set()
        """Stored ids of the sessions among them that belong to the user."""
        off = caller.off_the_record
        self._off_the_record = None if off is None else HubClient(connection, namespace, off, encoder)
        """The same client on the host of conversations off the record, which has subscriptions of its own."""
        self._joining: tuple[str, ...] = ()
        self.is_disconnected = False

    @property
    def is_operator(self) -> bool:
        """Whether the client is in the operator namespace, and receives the events for operators of all sessions."""
        return self.namespace == OPERATOR_NAMESPACE

    def send_event(self, event: WireEvent) -> None:
        """Send an event to the client; never waits. A deleted session is no longer subscribed to."""
        if event.name == SessionDeleted.wire_name:
            self.sessions.discard(event.session_id)
        view = self.caller.view
        is_own = view is not None and event.session_id in self._own_sessions
        encoded = self._encoder.encode(event, self.caller.user.id, view, is_own=is_own)
        self.connection.send_buffer.send_event(encoded, self.namespace)

    def send_operator_event(self, event: WireEvent) -> None:
        """Send an event of any session if it is for operators (`Event.audience`); never waits.

        Skips a joined session, whose events arrive by the subscription, and one being joined, whose replay has them.
        """
        if (
            event_type(event.name).audience == "operators"
            and event.session_id not in self.sessions
            and event.session_id not in self._joining
        ):
            self.send_event(event)

    def send_change(self, event: WireEvent, owner: str) -> None:
        """Send what is shown of a session to a client that may see it in a list and has not joined it; never waits."""
        is_own = owner == self.caller.user.id
        if not (is_own or self.is_operator) or not self.caller.rights.has_scope("Read"):
            return
        if event.session_id in self.sessions or event.session_id in self._joining:
            return  # it hears that of the session
        encoded = self._encoder.encode(event, self.caller.user.id, self.caller.view, is_own=is_own)
        self.connection.send_buffer.send_event(encoded, self.namespace)

    async def join(self, session_id: str, last_seq: int, *, is_off_the_record: bool) -> MissedEvents:
        """See `Subscriptions.join`."""
        return await self._on_host(is_off_the_record)._join_session(session_id, last_seq)

    async def _join_session(self, session_id: str, last_seq: int) -> MissedEvents:
        self.leave(session_id)  # the replay contains the events that occur in the meantime
        self._joining = self.caller.sessions.possible_stored_ids(session_id)
        try:
            session, joined = await self._find_and_join(session_id, max(last_seq, 0))
        finally:
            self._joining = ()
        self._add_session(session.id)
        if (view := self.caller.view) is not None:
            is_own = session.owner == self.caller.user.id
            joined = replace(joined, events=[view.wire_event(event, is_own=is_own) for event in joined.events])
        return to_client_events(joined, self.caller.user.id)

    def _on_host(self, is_off_the_record: bool) -> "HubClient":
        return self._off_the_record or self if is_off_the_record else self

    async def _find_and_join(self, session_id: str, last_seq: int) -> tuple[SessionSummary, MissedEvents]:
        for _ in range(SESSION_TRIES):
            session = await self._find_session(session_id)
            self._note_owner(session.id, session.owner)
            with suppress(SessionTaken):  # deleted meanwhile, and now somebody else's: the id names another session
                joined = await self._event_bus.join_session(session.id, last_seq, self.send_event, session.owner)
                return session, joined
        raise SessionTaken(session_id)

    def _note_owner(self, stored_id: str, owner: str) -> None:
        """Note whether the user owns a session, before its first event arrives."""
        if owner == self.caller.user.id:
            self._own_sessions.add(stored_id)
        else:
            self._own_sessions.discard(stored_id)

    async def _find_session(self, session_id: str) -> SessionSummary:
        """Return the session to join; only those who may write create one."""
        sessions, rights = self.caller.sessions, self.caller.rights
        return await (sessions.find_or_create(session_id) if rights.allows("Chat") else sessions.find(session_id))

    @asynccontextmanager
    async def during(self, *, is_off_the_record: bool) -> AsyncGenerator[Callable[[str], Awaitable[None]]]:
        """See `Subscriptions.during`."""
        client, new_session = self._on_host(is_off_the_record), ""

        async def subscribe(session_id: str) -> None:
            nonlocal new_session
            if session_id not in client.sessions:
                client._unsubscribe(new_session)  # the first one was deleted, and its id is somebody else's by now
                new_session = session_id
                await client._subscribe(session_id)

        try:
            yield subscribe
        except BaseException:
            client._unsubscribe(new_session)
            raise

    def leave(self, session_id: str) -> None:
        """See `Subscriptions.leave`."""
        if self._off_the_record is not None:
            self._off_the_record.leave(session_id)
        for stored_id in self.caller.sessions.possible_stored_ids(session_id):
            self._unsubscribe(stored_id)

    def leave_all_sessions(self) -> None:
        """Unsubscribe from all sessions; the client has disconnected."""
        self.is_disconnected = True
        if self._off_the_record is not None:
            self._off_the_record.leave_all_sessions()
        for session_id in list(self.sessions):
            self._unsubscribe(session_id)

    async def _subscribe(self, session_id: str) -> None:
        """Subscribe to a session; `caller` has authorized it already."""
        self.sessions.add(session_id)
        self._note_owner(session_id, self.caller.user.id)
        try:
            await self._event_bus.subscribe(session_id, self.send_event, self.caller.user.id)
        except BaseException:
            self.sessions.discard(session_id)
            raise
        self._add_session(session_id)

    def _unsubscribe(self, stored_id: str) -> None:
        if stored_id in self.sessions:
            self.sessions.discard(stored_id)
            self._own_sessions.discard(stored_id)
            self._event_bus.unsubscribe(stored_id, self.send_event)

    def _add_session(self, session_id: str) -> None:
        self.sessions.add(session_id)
        if self.is_disconnected:  # disconnected during the await
            self._unsubscribe(session_id)
