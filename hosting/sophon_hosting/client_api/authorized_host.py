"""Authorized host: the operations of one user on a host. Socket.IO and HTTP use it, so each permission exists once."""

from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.client_api.areas.attachments import UserAttachments
from sophon_hosting.client_api.areas.branches import BranchOperations
from sophon_hosting.client_api.areas.history import HistoryOperations
from sophon_hosting.client_api.areas.imports import UserImports
from sophon_hosting.client_api.areas.replays import TurnReplays
from sophon_hosting.client_api.areas.subscriptions import SubscriptionOperations
from sophon_hosting.client_api.authentication import User
from sophon_hosting.client_api.connection import Connection
from sophon_hosting.host import Host
from sophon_hosting.off_the_record.host import OffTheRecordHost


class AuthorizedHost(BranchOperations, HistoryOperations, SubscriptionOperations):
    """Application service: the operations of one user on a host, each with its permission check.

    A user reads and changes only their own sessions and tasks. An operator reads everything, decides and cancels
    everywhere, and sends messages only to their own sessions. What belongs to another user raises NotFound, like what
    does not exist, and a session id that another user has taken names a session of the user's own (`session_scope`).
    Operators know what exists, so they get Forbidden instead; `knows_all` says that the user is one who acts without
    the rights of an operator.

    The operations on sessions, messages, tasks and approvals are methods here, because `conversation_mode` routes each
    call to this object or to the same one off the record. Larger areas are objects: `authorized.workspace.list()`;
    what one route does alone is in its handler, with its permission check.
    """

    def __init__(
        self, host: Host, user: User, *, knows_all: bool = False, connection: Connection | None = None
    ) -> None:
        super().__init__(host, user, knows_all=knows_all, connection=connection)
        off = host.off_the_record
        self._sessions_off: OffTheRecordSessions | None = None
        if isinstance(off, OffTheRecordHost):
            self._sessions_off = OffTheRecordSessions(off, user, knows_all=knows_all, connection=self.connection)
            self._sessions_off.reply = self.reply

    @property
    def off_the_record(self) -> "OffTheRecordSessions | None":
        """The same user on the host of conversations off the record; None if this host has none."""
        return self._sessions_off

    @property
    def attachments(self) -> UserAttachments:
        """The files of the user."""
        return UserAttachments(self)

    @property
    def imports(self) -> UserImports:
        """Import of conversations into the user's sessions."""
        return UserImports(self)

    @property
    def replays(self) -> TurnReplays:
        """Replays of the user's own turns."""
        return TurnReplays(self)


class OffTheRecordSessions(AuthorizedHost):
    """The conversations off the record of one user. They are in no list of sessions or tasks, except by their id.

    Operators get no more of them than of their own, except the approvals, which they decide.
    """

    def __init__(
        self, host: OffTheRecordHost, user: User, *, knows_all: bool = False, connection: Connection | None = None
    ) -> None:
        super().__init__(host, user, knows_all=knows_all, connection=connection)
        self._off_host = host

    @property
    def attachments(self) -> UserAttachments:
        """The files of the user off the record."""
        return UserAttachments(self, is_off_the_record=True)

    async def has_session(self, session_id: str) -> bool:
        """Return whether the user has a conversation off the record of that name."""
        found = [await self.store.sessions.find(each) for each in self.sessions.possible_stored_ids(session_id)]
        return any(each is not None and each.owner == self.user.id for each in found)

    async def ensure_own_session(self, session_id: str) -> SessionSummary:
        """See `AuthorizedHost.ensure_own_session`. Raises OffTheRecordFull, too."""
        if not await self.has_session(session_id):
            await self._off_host.check_room(self.user.id)
        return await super().ensure_own_session(session_id)
