"""Access of one user to a host: who asks, with which rights, and what of histories they see."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

from sophon.stores.approvals.contract import ApprovalRecord
from sophon.stores.runs.contract import Run, RunStatus
from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.client_api.authentication import User
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.client_message import ClientMessage
from sophon_hosting.client_api.conversation_mode import OffTheRecordLookup
from sophon_hosting.client_api.history_view import HistoryView
from sophon_hosting.client_api.rights import HUB_CHANNEL, OPERATOR_SCOPE, ClientRights
from sophon_hosting.client_api.user_sessions import UserSessions
from sophon_hosting.events.wire_event import EventListener
from sophon_hosting.host import Host, TaskReceipt


class OffTheRecordOperations(OffTheRecordLookup, Protocol):
    """What a user does on the host off the record, as far as no id decides it (see `conversation_mode`)."""

    def new_session_id(self) -> str: ...
    def unsubscribe(self, session_id: str, listener: EventListener) -> None: ...
    async def ensure_own_session(self, session_id: str) -> SessionSummary: ...
    async def accept_message(
        self, message: ClientMessage, *, before_accept: Callable[[str], Awaitable[None]] | None = None
    ) -> TaskReceipt: ...
    async def list_tasks(
        self,
        *,
        session_id: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[Run]: ...
    async def list_approvals(
        self, *, session_id: str | None = None, open_only: bool = True, all_users: bool = False
    ) -> list[ApprovalRecord]: ...


class UserAccess:
    """What the areas share: the host, the user and the rights of the user.

    `rights` limit the user by the permission level, and by the scopes of the token: operations raise LevelNeeded and
    ScopeNeeded. Who lacks the permission FullHistory reads conversations, events, tasks and approvals redacted.
    """

    def __init__(self, host: Host, user: User, *, knows_all: bool = False) -> None:
        self._host, self.user, self.store = host, user, host.services.store
        self.rights = ClientRights.resolve(
            host.services.settings.permissions,
            user.id,
            channel=HUB_CHANNEL,
            is_operator=user.operator or knows_all,
            scopes=user.scopes,
        )
        self.view = (
            None
            if self.rights.sees_full_history
            else HistoryView(
                shows_approvals=self.rights.allows("Approvals"),
                hides_streams=not host.services.settings.guards.redaction.enabled,
            )
        )
        """What of histories the user sees; None: everything."""
        self.sessions = UserSessions(
            self.store.sessions, user, knows_all=knows_all or user.operator, channels=host.channel_names
        )

    @property
    def host(self) -> Host:
        """The host that serves the user."""
        return self._host

    @property
    def off_the_record(self) -> OffTheRecordOperations | None:
        """The same user on the host of conversations off the record; None if this host has none."""
        return None

    def now(self) -> datetime:
        """Return the host's time."""
        return self._host.services.clock.now()

    def monotonic(self) -> float:
        """Return the monotonic time of the host's clock, in seconds."""
        return self._host.services.clock.monotonic()

    def require_operator(self) -> None:
        """Raise Forbidden unless the user is an operator, ScopeNeeded if the token may not be used as one."""
        self.rights.require_scope(OPERATOR_SCOPE)
        if not self.user.operator:
            raise Forbidden("only an operator may do this")

    def owner_filter(self, everything: bool) -> str | None:
        """Return the owner to filter by: the user, or None for everything, which is for operators."""
        if everything:
            self.require_operator()
            return None
        return self.user.id
