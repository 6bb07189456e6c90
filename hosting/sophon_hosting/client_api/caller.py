"""Caller of an operation: who asks which host, with which rights, and what of histories they see."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.events import Event
from sophon.settings import Settings
from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.client_api.caller_connection import Connection, DirectConnection, ServedProcess
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.history_view import HistoryView
from sophon_hosting.client_api.off_the_record_errors import OffTheRecordLost, OtherMode
from sophon_hosting.client_api.operation_reply import Reply
from sophon_hosting.client_api.rights import HUB_CHANNEL, ClientRights
from sophon_hosting.client_api.user_sessions import UserSessions
from sophon_hosting.events.event_committer import EventCommitter
from sophon_hosting.off_the_record.session_ids import is_generated_id
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.store.contract import HostStore, host_store

if TYPE_CHECKING:
    from sophon.stores.memories.long_term_memory import LongTermMemory
    from sophon_hosting.host import Host
    from sophon_hosting.store.runs.contract import Run


class CallerEvents(EventCommitter, Protocol):
    """What a caller emits: the event bus of a host, or the log of a store."""

    def emit(self, event: Event, /) -> None:
        """Emit an event of a session."""
        ...


class Caller:
    """Who asks, on one host. A caller over HTTP lasts for one request, one over Socket.IO as long as its connection.

    `rights` limit the user by the permission level, and by the scopes of the token. Who lacks the permission
    FullHistory reads conversations, events, tasks and approvals redacted. A user reads and changes only what is their
    own; an operator reads everything, decides and cancels everywhere, and writes only to their own sessions. What
    belongs to another user raises NotFound, like what does not exist. Operators know what exists, so they get Forbidden
    instead; `knows_all` says that the user is one who acts without the rights of an operator.
    """

    def __init__(
        self,
        host: "Host",
        user: User,
        *,
        knows_all: bool = False,
        connection: Connection | None = None,
        reply: Reply | None = None,
    ) -> None:
        services = host.services
        self._host = host
        self.events: CallerEvents = host.event_bus
        self._set_up(
            user,
            host_store(services),
            services.settings,
            connection or DirectConnection(services.clock),
            services.clock,
            reply=reply,
            knows_all=knows_all,
            channels=host.channel_names,
        )

    def _set_up(
        self,
        user: User,
        store: HostStore,
        settings: Settings,
        connection: Connection,
        clock: Clock,
        *,
        reply: Reply | None = None,
        knows_all: bool = False,
        channels: Collection[str] = (),
    ) -> None:
        self.user, self.store, self.settings, self.clock, self.connection = user, store, settings, clock, connection
        self.reply = reply or Reply()
        self._knows_all = knows_all
        self._off_the_record: Caller | None = None
        is_operator = user.operator or knows_all
        self.rights = ClientRights.resolve(
            settings.permissions, user.id, channel=HUB_CHANNEL, is_operator=is_operator, scopes=user.scopes
        )
        self.view = (
            None
            if self.rights.sees_full_history
            else HistoryView(
                shows_approvals=self.rights.allows("Approvals"),
                hides_streams=not settings.guards.redaction.enabled,
            )
        )
        """What of histories the user sees; None: everything."""
        self.sessions = UserSessions(store.sessions, user, knows_all=is_operator, channels=channels)

    @property
    def host(self) -> "Host":
        """The host that serves the user."""
        return self._host

    @property
    def running_host(self) -> "Host | None":
        """The host that serves the user; None for who opened its store instead."""
        return self._host

    @property
    def process(self) -> ServedProcess:
        """The process that serves the user."""
        return self.connection.process

    @property
    def active_runs(self) -> ActiveRuns:
        """Runs whose turns the host runs now."""
        return self._host.active_runs

    @property
    def is_off_the_record(self) -> bool:
        """Whether the host is that of conversations off the record."""
        return self._host.is_off_the_record

    @property
    def folder(self) -> Path:
        """Folder of the host's settings, in which its files are."""
        return self.host.services.folder

    @property
    def memory(self) -> "LongTermMemory":
        """Long-term memory of the host."""
        return self.host.services.memory

    @property
    def is_signed_in(self) -> bool:
        """Whether the user signed in at a host; who opened its store instead did not."""
        return True

    @property
    def off_the_record(self) -> "Caller | None":
        """The same user on the host of conversations off the record; None if this host has none."""
        if self._off_the_record is None and (off := self._host.off_the_record) is not None:
            self._off_the_record = Caller(
                off, self.user, knows_all=self._knows_all, connection=self.connection, reply=self.reply
            )
        return self._off_the_record

    @property
    def owner(self) -> str | None:
        """Whose rows the user may name: their own; None for an operator, who may name all."""
        return None if self.user.operator else self.user.id

    async def find_author(self, session_id: str | None) -> str:
        """Return the user to whom what is made for a session belongs. Raises InputError."""
        return self.user.id

    def new_session_id(self) -> str:
        """Return an id for a new session."""
        return self._host.new_session_id()

    async def open_own_session(self, session_id: str, owner: str) -> SessionSummary:
        """Return the stored session for what reports to it later; create it if it does not exist.

        Raises InputError, Forbidden (operators), and what `check_on_the_record` raises: a report would be kept.
        """
        await self.check_on_the_record(session_id)
        return await self.sessions.find_or_create_own(session_id)

    async def check_on_the_record(self, session_id: str) -> None:
        """Raise OtherMode or OffTheRecordLost if a conversation of the id is, or was, off the record."""
        off = self.off_the_record
        if off is not None and await off.has_own_session(session_id):
            raise OtherMode(session_id, is_off_the_record=True, remedy="this would be kept; name another session")
        await self.check_not_lost(session_id)

    async def check_not_lost(self, session_id: str) -> None:
        """Raise OffTheRecordLost for the id of a conversation off the record that has ended."""
        if is_generated_id(session_id) and not await self.may_read_session(session_id):
            raise OffTheRecordLost(session_id)

    async def has_own_session(self, session_id: str) -> bool:
        """Return whether this host has a session of the user by that name."""
        found = [await self.store.sessions.find(each) for each in self.sessions.possible_stored_ids(session_id)]
        return any(each is not None and each.owner == self.user.id for each in found)

    async def may_read_session(self, session_id: str) -> bool:
        """Return whether the user may read a stored session of that name."""
        try:
            await self.sessions.find(session_id)
        except (NotFound, Forbidden):
            return False
        return True

    def publish_session(self, session: SessionSummary) -> None:
        """Tell all clients who may see a stored session what is shown of it now."""
        self.host.session_changes.publish(session)

    async def delete_session(self, stored_id: str) -> None:
        """Cancel the turns of a session and delete it. Raises NotFound, Busy while a turn does not stop."""
        await self.host.delete_session(stored_id)

    async def find_position(self, task_id: str) -> int | None:
        """Return how many tasks are ahead of a waiting task; None if it does not wait, or the queue does not say."""
        return await self.host.find_position(task_id)

    async def cancel_task(self, task_id: str) -> "Run":
        """Cancel a task and return its run, which may still be stopping. Raises NotFound."""
        return await self.host.cancel(task_id)

    def subscribing(self) -> AbstractAsyncContextManager[Callable[[str], Awaitable[None]]]:
        """Return what `Subscriptions.during` returns; without events, it subscribes to nothing."""
        subscriptions = self.connection.subscriptions
        if subscriptions is None:
            return nullcontext(_subscribe_to_nothing)
        return subscriptions.during(is_off_the_record=self.is_off_the_record)

    async def wait_for_change(self, changed: asyncio.Event, deadline: float) -> bool:
        """Return True once `changed` is set; False at the deadline, in monotonic time, or if client or host go."""
        return await self.connection.wait_for_change(changed, deadline)

    def now(self) -> datetime:
        """Return the host's time."""
        return self.clock.now()

    def monotonic(self) -> float:
        """Return the monotonic time of the host's clock, in seconds."""
        return self.clock.monotonic()

    def owner_filter(self, everything: bool) -> str | None:
        """Return the owner to filter by: the user, or None for everything, which declarations leave to operators."""
        return None if everything else self.user.id


async def _subscribe_to_nothing(session_id: str) -> None:
    """Nobody gets the events."""
