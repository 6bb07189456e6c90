"""Who is connected: a connection, and on it one client for each namespace that was entered."""

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
"""What operators hear of all sessions, without having joined."""


class Connection:
    """One line to one machine.

    What comes over it is worked off one after the other, whoever holds `turnstile`. `attachments` binary messages that
    follow belong to a packet that was refused.
    """

    def __init__(self, connection_id: str, address: str, outbox: Outbox) -> None:
        self.id, self.address, self.outbox = connection_id, address, outbox
        self.clients: dict[str, Client] = {}
        """By namespace."""
        self.turnstile = asyncio.Lock()
        self.attachments = 0
        self.deadline: asyncio.Task[None] | None = None
        """While it belongs to nobody: ends it."""


class Client:
    """Somebody in one namespace, with what they may do; `sessions` are those whose events they hear."""

    def __init__(self, connection: Connection, namespace: str, desk: Desk, feed: EventFeed, encoder: Encoder) -> None:
        self.connection, self.namespace, self.desk = connection, namespace, desk
        self._feed, self._encoder = feed, encoder
        self.sessions: set[str] = set()
        self._joining = ""
        self.gone = False

    @property
    def watches(self) -> bool:
        """Whether they watch over the sessions of all."""
        return self.namespace == OPERATOR

    def hear(self, frame: Frame) -> None:
        """Be told of an event; never waits."""
        self.connection.outbox.tell(self._encoder.of(frame), self.namespace)

    def watch(self, frame: Frame) -> None:
        """Be told of an event of any session, if it is one of those to watch for; never waits.

        A session that they have joined is heard there, and one that they are joining is in what they missed.
        """
        if frame.name in WATCHED and frame.session_id not in self.sessions and frame.session_id != self._joining:
            self.hear(frame)

    async def join(self, session_id: str, last_seq: int) -> Joined:
        """What they missed of a session, and from then on every event. Raises what Desk.join raises; then they do not
        hear it, even if they did before.
        """
        self.leave(session_id)  # what happens in the meantime is in what they missed
        self._joining = session_id
        try:
            joined = await self.desk.join(session_id, last_seq, self.hear)
        finally:
            self._joining = ""
        self._entered(session_id)
        return joined

    async def send(self, message: SendMessage) -> Receipt:
        """Send a message into a session, which they hear from then on: its first event too, whoever made the session.
        Raises what Desk.send raises; then nothing has changed.
        """
        new = ""

        async def listen(session_id: str) -> None:
            nonlocal new
            if session_id not in self.sessions:
                new = session_id
                await self._listen(session_id)

        try:
            receipt = await self.desk.send(message, before=listen)
        except BaseException:
            self.leave(new)
            raise
        if receipt.session_id not in self.sessions:  # it was sent before, and into a session that this one did not name
            self.leave(new)
            await self._listen(receipt.session_id)
        return receipt

    def leave(self, session_id: str) -> None:
        """Hear no more of a session."""
        if session_id in self.sessions:
            self.sessions.discard(session_id)
            self._feed.leave(session_id, self.hear)

    def leave_all(self) -> None:
        """They are gone."""
        self.gone = True
        for session_id in list(self.sessions):
            self.leave(session_id)

    async def _listen(self, session_id: str) -> None:
        """Every event of a session from now on. That they may, the desk has said."""
        self.sessions.add(session_id)
        await self._feed.listen(session_id, self.hear)
        self._entered(session_id)

    def _entered(self, session_id: str) -> None:
        self.sessions.add(session_id)
        if self.gone:  # while they were waiting
            self.leave(session_id)
