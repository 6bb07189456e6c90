"""Connections and clients of the hub: a connection has one client per namespace, which subscribes to sessions."""

import asyncio

from sophon_hosting.desk import Desk, SendMessage
from sophon_hosting.events.feed import EventFeed
from sophon_hosting.events.frame import Frame
from sophon_hosting.events.replay import Joined
from sophon_hosting.host import Receipt
from sophon_hosting.hub.encoding import Encoder
from sophon_hosting.hub.outbox import Outbox

CHAT = "/"
OPERATOR = "/operator"

WATCHED = frozenset(
    {
        "approval_requested",
        "approval_resolved",
        "task_queued",
        "task_started",
        "task_completed",
        "task_failed",
        "task_cancelled",
    }
)
"""Events that operators receive for all sessions without joining them."""


class Connection:
    """One Engine.IO connection.

    Its messages are processed in order, one at a time, under the lock `turnstile`. `attachments` is the number of
    binary messages still to come for a packet that was refused.
    """

    def __init__(self, connection_id: str, address: str, outbox: Outbox) -> None:
        self.id, self.address, self.outbox = connection_id, address, outbox
        self.clients: dict[str, Client] = {}
        """Clients by namespace."""
        self.turnstile = asyncio.Lock()
        self.attachments = 0
        self.deadline: asyncio.Task[None] | None = None
        """Closes the connection after the handshake timeout; None while the connection has a client."""


class Client:
    """An authenticated client in one namespace; `sessions` holds the ids of the sessions it is subscribed to."""

    def __init__(
        self, connection: Connection, namespace: str, desk: Desk, event_bus: EventFeed, encoder: Encoder
    ) -> None:
        self.connection, self.namespace, self.desk = connection, namespace, desk
        self._event_bus, self._encoder = event_bus, encoder
        self.sessions: set[str] = set()
        self._joining = ""
        self.gone = False

    @property
    def watches(self) -> bool:
        """Whether the client is in the operator namespace, and receives `WATCHED` events of all sessions."""
        return self.namespace == OPERATOR

    def hear(self, event: Frame) -> None:
        """Send an event to the client; never waits."""
        self.connection.outbox.tell(self._encoder.of(event), self.namespace)

    def watch(self, event: Frame) -> None:
        """Send an event of any session if it is one of `WATCHED`; never waits.

        Skips a joined session, whose events arrive by the subscription, and one being joined, whose replay has them.
        """
        if event.name in WATCHED and event.session_id not in self.sessions and event.session_id != self._joining:
            self.hear(event)

    async def join(self, session_id: str, last_seq: int) -> Joined:
        """Subscribe to a session and return the events missed since `last_seq`. Raises what `Desk.join` raises; the
        client is then not subscribed, even if it was before.
        """
        self.leave(session_id)  # the replay contains the events that occur in the meantime
        self._joining = session_id
        try:
            joined = await self.desk.join(session_id, last_seq, self.hear)
        finally:
            self._joining = ""
        self._add_session(session_id)
        return joined

    async def send(self, message: SendMessage) -> Receipt:
        """Send a message to a session and subscribe to that session before its first event.

        Raises what `Desk.send` raises; the subscriptions are then unchanged.
        """
        new_session = ""

        async def subscribe(session_id: str) -> None:
            nonlocal new_session
            if session_id not in self.sessions:
                new_session = session_id
                await self._subscribe(session_id)

        try:
            receipt = await self.desk.send(message, before=subscribe)
        except BaseException:
            self.leave(new_session)
            raise
        if receipt.session_id not in self.sessions:  # a duplicate message that was first sent to another session
            self.leave(new_session)
            await self._subscribe(receipt.session_id)
        return receipt

    def leave(self, session_id: str) -> None:
        """Unsubscribe from a session."""
        if session_id in self.sessions:
            self.sessions.discard(session_id)
            self._event_bus.leave(session_id, self.hear)

    def leave_all(self) -> None:
        """Unsubscribe from all sessions; the client has disconnected."""
        self.gone = True
        for session_id in list(self.sessions):
            self.leave(session_id)

    async def _subscribe(self, session_id: str) -> None:
        """Subscribe to a session; `desk` has authorized it already."""
        self.sessions.add(session_id)
        await self._event_bus.listen(session_id, self.hear)
        self._add_session(session_id)

    def _add_session(self, session_id: str) -> None:
        self.sessions.add(session_id)
        if self.gone:  # disconnected during the await
            self.leave(session_id)
