"""Authorized host: the operations of one user on a host. Socket.IO and HTTP use it, so each permission exists once."""

import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sophon.approvals import Decision
from sophon.errors import InputError, NotFound
from sophon.stores.approvals.contract import ApprovalRecord
from sophon.stores.events.contract import LoggedEvent
from sophon.stores.runs.contract import Run, RunStatus
from sophon.stores.sessions.contract import SessionRecord, SessionSummary
from sophon_hosting.client_api.authentication import User
from sophon_hosting.client_api.client_errors import Busy, Forbidden, TooLarge, Unavailable
from sophon_hosting.events.replay import SessionReplay
from sophon_hosting.events.wire_event import EventListener
from sophon_hosting.host import Host, RunRequest, TaskReceipt
from sophon_hosting.observability.trace_id import new_trace_id
from sophon_hosting.runs.approvals import task_id_from_request

MAX_CONTENT_CHARACTERS = 200_000
"""Maximum length of one message; longer texts belong in files."""

MAX_ID_CHARACTERS = 128
"""Maximum length of session ids and message ids that clients choose."""

HUB_CHANNEL = "hub"
"""Channel name of messages received over Socket.IO and HTTP."""


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """Message from a client.

    `client_message_id` is the client's idempotency key: the same id yields the same task. `trace` is a trace id (32
    hexadecimal digits). `instructions` apply to this turn only and follow those of the host.
    """

    content: str
    session_id: str | None = None
    client_message_id: str | None = None
    stream: bool = True
    model: str | None = None
    planning: str | None = None
    trace: str | None = None
    instructions: str | None = None


class AuthorizedHost:
    """Application service: the operations of one user on a host, each with its permission check.

    A user reads and changes only their own sessions and tasks. An operator reads everything, decides and cancels
    everywhere, and sends messages only to their own sessions. Objects of other users raise Forbidden, missing ones
    NotFound.
    """

    def __init__(self, host: Host, user: User) -> None:
        self._host, self.user = host, user
        self._store = host.services.store

    async def send_message(
        self, message: ClientMessage, *, before_accept: Callable[[str], Awaitable[None]] | None = None
    ) -> TaskReceipt:
        """Accept a message; create the session if none is named or the named one does not exist.

        `before_accept` is awaited with the session id after the permission check and before anything is written; for a
        message that was accepted earlier, the receipt may name another session. Raises Unavailable, InputError,
        TooLarge, Forbidden, QueueFull, NotFound for an unknown model.
        """
        if self._host.is_shutting_down:
            raise Unavailable("the host is shutting down; send the message again when it is back")
        if len(message.content) > MAX_CONTENT_CHARACTERS:
            raise TooLarge("the message", len(message.content), MAX_CONTENT_CHARACTERS)
        validate_id("client_message_id", message.client_message_id)
        session_id = message.session_id
        if session_id is None:  # created with the task, so that a repeated message leaves no empty session
            session_id = self.new_session_id()
        else:
            await self.ensure_own_session(session_id)
        if before_accept is not None:
            await before_accept(session_id)
        return await self._host.accept(
            RunRequest(
                text=message.content,
                session_id=session_id,
                owner=self.user.id,
                channel=HUB_CHANNEL,
                account=self.user.id,
                external_id=message.client_message_id,
                stream=message.stream,
                model=message.model,
                planning=message.planning,
                trace=message.trace or new_trace_id(),
                instructions=message.instructions,
            )
        )

    async def cancel_task(self, task_id: str) -> Run:
        """Cancel a task; a finished task stays unchanged. Raises NotFound, Forbidden."""
        await self.get_task(task_id)
        return await self._host.cancel(task_id)

    async def decide_approval(self, approval_id: str, decision: Decision) -> ApprovalRecord:
        """Decide an approval of the user's tasks; an operator may decide all. Raises NotFound, DecisionRefused."""
        return await self._host.approvals.decide(approval_id, decision, self.user.id)

    async def join_session(self, session_id: str, last_seq: int, listener: EventListener) -> SessionReplay:
        """Return the events of a session after `last_seq` and subscribe to all later ones, until `unsubscribe`.

        A missing session is created and belongs to the user. Raises InputError, Forbidden.
        """
        if self.user.operator:
            validate_id("session_id", session_id)
            await self._store.sessions.get_or_create(session_id, self.user.id)
        else:
            await self.ensure_own_session(session_id)
        return await self._host.event_bus.join_session(session_id, max(last_seq, 0), listener)

    async def subscribe(self, session_id: str, listener: EventListener) -> None:
        """Subscribe to the events of a session, until `unsubscribe`. Raises NotFound, Forbidden."""
        await self.get_session(session_id)
        await self._host.event_bus.subscribe(session_id, listener)

    def subscribe_all(self, listener: EventListener) -> None:
        """Subscribe to the events of all sessions, until `unsubscribe_all`. Operators only. Raises Forbidden."""
        self.require_operator()
        self._host.event_bus.subscribe_all(listener)

    def unsubscribe_all(self, listener: EventListener) -> None:
        """Undo `subscribe_all`."""
        self._host.event_bus.unsubscribe_all(listener)

    def unsubscribe(self, session_id: str, listener: EventListener) -> None:
        """Unsubscribe from the events of a session."""
        self._host.event_bus.unsubscribe(session_id, listener)

    def new_session_id(self) -> str:
        """Return an id for a new session."""
        return self._host.services.clock.new_id()

    async def ensure_own_session(self, session_id: str) -> SessionSummary:
        """Return a session of the user; create it if it does not exist. Raises InputError, Forbidden."""
        validate_id("session_id", session_id)
        session = await self._store.sessions.get_or_create(session_id, self.user.id)
        if session.owner != self.user.id:
            raise Forbidden("this session belongs to another user")
        return session

    async def get_session(self, session_id: str) -> SessionSummary:
        """Return a session. Raises NotFound, Forbidden."""
        session = await self._store.sessions.get(session_id)
        self._require_access(session.owner, "session")
        return session

    async def list_sessions(self, *, all_users: bool = False) -> list[SessionSummary]:
        """Return the user's sessions, newest first; with `all_users` (operators only) those of all users."""
        return await self._store.sessions.list(self._owner_filter(all_users))

    async def list_records(self, session_id: str, after_seq: int = 0) -> list[SessionRecord]:
        """Return the records of a session after a seq. Raises NotFound, Forbidden."""
        await self.get_session(session_id)
        return await self._store.sessions.list_records(session_id, after_seq)

    async def list_events(self, session_id: str, after_seq: int = 0, limit: int = 1000) -> list[LoggedEvent]:
        """Return the stored events of a session after a seq; old ones are trimmed. Raises NotFound, Forbidden."""
        await self.get_session(session_id)
        return await self._store.events.list_after(session_id, after_seq, limit)

    async def rename_session(self, session_id: str, title: str) -> SessionSummary:
        """Set the title of a session and return the session. Raises NotFound, Forbidden."""
        await self.get_session(session_id)
        await self._store.sessions.rename(session_id, title)
        return await self._store.sessions.get(session_id)

    async def set_session_model(self, session_id: str, model: str | None) -> SessionSummary:
        """Set the model of a session; None restores routing. Raises NotFound (session or model), Forbidden."""
        await self.get_session(session_id)
        if model is not None:
            self._host.services.gateway.find(model)
        await self._store.sessions.set_model(session_id, model)
        return await self._store.sessions.get(session_id)

    async def fork_session(
        self, session_id: str, new_session_id: str | None = None, *, up_to_seq: int | None = None
    ) -> SessionSummary:
        """Copy a session, completely or up to a seq; the owner stays. Raises NotFound, Forbidden, InputError."""
        await self.get_session(session_id)
        validate_id("session_id", new_session_id)
        copy = new_session_id or self._host.services.clock.new_id()
        await self._store.sessions.fork(session_id, copy, upto=up_to_seq)
        return await self._store.sessions.get(copy)

    async def delete_session(self, session_id: str) -> None:
        """Cancel the session's tasks, then delete the session. Raises NotFound, Forbidden, Busy.

        Busy: a turn did not stop within a second. The session still exists; retry when the turn has ended.
        """
        await self.get_session(session_id)
        while unfinished := [run for run in await self._store.runs.list_unfinished() if run.session_id == session_id]:
            for run in unfinished:
                if not (await self._host.cancel(run.id)).is_finished:
                    raise Busy(f"task {run.id!r} is still stopping; delete the session when it has ended")
        await self._store.sessions.delete(session_id)

    async def get_task(self, task_id: str) -> Run:
        """Return the run of a task. Raises NotFound, Forbidden."""
        run = await self._store.runs.get(task_id)
        self._require_access(run.owner, "task")
        return run

    async def list_tasks(
        self,
        *,
        session_id: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
        all_users: bool = False,
    ) -> list[Run]:
        """Return the user's tasks, newest first; with `all_users` (operators only) those of all users."""
        owner = self._owner_filter(all_users)
        return await self._store.runs.list(session_id=session_id, owner=owner, status=status, limit=limit)

    async def get_approval(self, approval_id: str) -> ApprovalRecord:
        """Return an approval. Raises NotFound, Forbidden."""
        record = await self._store.approvals.get(approval_id)
        self._require_access(await self._owner_of_task(record), "approval")
        return record

    async def list_approvals(
        self, *, session_id: str | None = None, open_only: bool = True, all_users: bool = False
    ) -> list[ApprovalRecord]:
        """Return the user's approvals, oldest first; with `all_users` (operators only) those of all users."""
        records = await self._store.approvals.list(open_only=open_only, session_id=session_id)
        owner = self._owner_filter(all_users)
        return [record for record in records if owner is None or await self._owner_of_task(record) == owner]

    def require_operator(self) -> None:
        """Raise Forbidden unless the user is an operator."""
        if not self.user.operator:
            raise Forbidden("only an operator may do this")

    async def _owner_of_task(self, record: ApprovalRecord) -> str | None:
        """Return the owner of the task, or None if the task was deleted."""
        try:
            return (await self._store.runs.get(task_id_from_request(record.request))).owner
        except NotFound:
            return None

    def _owner_filter(self, everything: bool) -> str | None:
        if everything:
            self.require_operator()
            return None
        return self.user.id

    def _require_access(self, owner: str | None, kind: str) -> None:
        if owner != self.user.id and not self.user.operator:
            raise Forbidden(f"this {kind} belongs to another user")


def validate_id(field_name: str, value: str | None) -> None:
    """Raise InputError for an id that is empty, too long, or contains invisible characters."""
    if value is None:
        return
    if not 1 <= len(value) <= MAX_ID_CHARACTERS:
        raise InputError(f"{field_name} has {len(value)} characters; 1 to {MAX_ID_CHARACTERS} are allowed")
    if any(unicodedata.category(character)[0] in "CZ" and character != " " for character in value):
        raise InputError(f"{field_name} contains invisible characters")
