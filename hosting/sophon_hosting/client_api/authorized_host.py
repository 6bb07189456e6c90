"""Authorized host: the operations of one user on a host. Socket.IO and HTTP use it, so each permission exists once."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from sophon.approvals import Decision
from sophon.errors import NotFound, SessionTaken
from sophon.models.gateway.provider import ProviderStatistics
from sophon.stores.approvals.contract import ApprovalRecord
from sophon.stores.events.contract import LoggedEvent
from sophon.stores.runs.contract import InboundKey, Run, RunStatus
from sophon.stores.sessions.contract import SessionPage, SessionRecord, SessionSummary
from sophon_hosting.client_api.authentication import User
from sophon_hosting.client_api.client_errors import Forbidden, TooLarge, Unavailable
from sophon_hosting.client_api.client_message import MAX_CONTENT_CHARACTERS, ClientMessage
from sophon_hosting.client_api.session_scope import to_client_logged_event
from sophon_hosting.client_api.user_sessions import UserSessions, validate_id
from sophon_hosting.events.large_fields import cut_payload
from sophon_hosting.events.replay import cut_stored_event
from sophon_hosting.events.wire_event import EventListener
from sophon_hosting.host import Host, RunRequest, TaskReceipt
from sophon_hosting.observability.trace_id import new_trace_id
from sophon_hosting.runs.approval_tasks import task_id_from_request

log = logging.getLogger("sophon")

SESSION_TRIES = 5
"""How often a session is looked up that others delete and take at the same time."""

HUB_CHANNEL = "hub"
"""Channel name of messages received over Socket.IO and HTTP."""


class AuthorizedHost:
    """Application service: the operations of one user on a host, each with its permission check.

    A user reads and changes only their own sessions and tasks. An operator reads everything, decides and cancels
    everywhere, and sends messages only to their own sessions. What belongs to another user raises NotFound, like what
    does not exist, and a session id that another user has taken names a session of the user's own (`session_scope`).
    Operators know what exists, so they get Forbidden instead; `knows_all` says that the user is one who acts without
    the rights of an operator.
    """

    def __init__(self, host: Host, user: User, *, knows_all: bool = False) -> None:
        self._host, self.user = host, user
        self._store = host.services.store
        self.sessions = UserSessions(
            self._store.sessions, user, knows_all=knows_all or user.operator, channels=host.channel_names
        )

    async def send_message(self, message: ClientMessage) -> TaskReceipt:
        """Accept a message; create the session if none is named or the named one does not exist.

        Raises Unavailable, InputError, TooLarge, Forbidden (operators), QueueFull, NotFound for an unknown model.
        """
        receipt = await self.accept_message(message)
        return replace(receipt, session_id=self.sessions.to_client_id(receipt.session_id))

    async def accept_message(
        self, message: ClientMessage, *, before_accept: Callable[[str], Awaitable[None]] | None = None
    ) -> TaskReceipt:
        """Do what `send_message` does; the receipt has the stored session id.

        A message that was accepted earlier gets the receipt of its task at once, also while the queue is full or the
        host is shutting down; it may name another session. Otherwise `before_accept` is awaited with the stored session
        id, after the permission check and before anything is written.
        """
        validate_id("client_message_id", message.client_message_id)
        if message.client_message_id is not None:
            key = InboundKey(HUB_CHANNEL, self.user.id, message.client_message_id)
            if (receipt := await self._host.find_accepted(key)) is not None:
                return receipt
        if self._host.is_shutting_down:
            raise Unavailable("the host is shutting down; send the message again when it is back")
        if len(message.content) > MAX_CONTENT_CHARACTERS:
            raise TooLarge("the message", len(message.content), MAX_CONTENT_CHARACTERS)
        for _ in range(SESSION_TRIES - 1):
            with suppress(SessionTaken):  # the session was deleted meanwhile, and its id is somebody else's by now
                return await self._accept_into_session(message, before_accept)
        return await self._accept_into_session(message, before_accept)

    async def _accept_into_session(
        self, message: ClientMessage, before_accept: Callable[[str], Awaitable[None]] | None
    ) -> TaskReceipt:
        session_id = message.session_id
        if session_id is None:  # created with the task, so that a repeated message leaves no empty session
            session_id = self.new_session_id()
        else:
            session_id = (await self.sessions.find_or_create_own(session_id)).id
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
                max_iterations=message.max_iterations,
                trace=message.trace or new_trace_id(),
                instructions=message.instructions,
                session_owner=self.user.id,
            )
        )

    async def cancel_task(self, task_id: str) -> Run:
        """Cancel a task; a finished task stays unchanged. Raises NotFound."""
        await self.get_task(task_id)
        return self.sessions.to_client_run(await self._host.cancel(task_id))

    async def decide_approval(self, approval_id: str, decision: Decision) -> ApprovalRecord:
        """Decide an approval of the user's tasks; an operator may decide all. Raises NotFound, DecisionRefused."""
        await self.get_approval(approval_id)
        return self.sessions.to_client_approval(await self._host.approvals.decide(approval_id, decision, self.user.id))

    async def subscribe(self, session_id: str, listener: EventListener) -> None:
        """Subscribe to the events of a session, until `unsubscribe`; they have stored session ids. Raises NotFound."""
        session = await self.sessions.find(session_id)
        await self._host.event_bus.subscribe(session.id, listener, session.owner)

    def subscribe_all(self, listener: EventListener) -> None:
        """Subscribe to the events of all sessions, until `unsubscribe_all`. Operators only. Raises Forbidden."""
        self.require_operator()
        self._host.event_bus.subscribe_all(listener)

    def unsubscribe_all(self, listener: EventListener) -> None:
        """Undo `subscribe_all`."""
        self._host.event_bus.unsubscribe_all(listener)

    def unsubscribe(self, session_id: str, listener: EventListener) -> None:
        """Unsubscribe from the events of a session."""
        for stored_id in self.sessions.possible_stored_ids(session_id):
            self._host.event_bus.unsubscribe(stored_id, listener)

    def new_session_id(self) -> str:
        """Return an id for a new session."""
        return self._host.services.clock.new_id()

    async def ensure_own_session(self, session_id: str) -> SessionSummary:
        """Return a session of the user; create it if it does not exist. Raises InputError, Forbidden (operators)."""
        return self.sessions.to_client_session(await self.sessions.find_or_create_own(session_id))

    async def get_session(self, session_id: str) -> SessionSummary:
        """Return a session. Raises NotFound."""
        return self.sessions.to_client_session(await self.sessions.find(session_id))

    async def list_sessions(
        self,
        *,
        all_users: bool = False,
        search: str = "",
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
    ) -> SessionPage:
        """Return a page of the user's sessions, newest first, as `SessionStore.list_page` does.

        With `all_users` (operators only) those of all users. Raises InputError for an invalid cursor.
        """
        page = await self._store.sessions.list_page(
            self._owner_filter(all_users), search=search, limit=limit, offset=offset, cursor=cursor
        )
        return replace(page, items=[self.sessions.to_client_session(session) for session in page.items])

    async def list_records(
        self,
        session_id: str,
        after_seq: int = 0,
        *,
        before_seq: int | None = None,
        limit: int | None = None,
        max_bytes: int | None = None,
    ) -> list[SessionRecord]:
        """Return records of a session as `SessionStore.list_records` does. Raises NotFound."""
        return await self._store.sessions.list_records(
            await self.sessions.find_stored_id(session_id),
            after_seq,
            before=before_seq,
            limit=limit,
            max_bytes=max_bytes,
        )

    async def get_record(self, session_id: str, seq: int) -> SessionRecord:
        """Return one record of a session. Raises NotFound."""
        records = await self.list_records(session_id, seq - 1, limit=1)
        if not records or records[0].seq != seq:
            raise NotFound("message", str(seq))
        return records[0]

    async def get_text(self, session_id: str, text_id: str) -> str:
        """Return a large text of a session, to which an event refers. Raises NotFound."""
        text = await self._store.texts.get(await self.sessions.find_stored_id(session_id), text_id)
        if text is None:
            raise NotFound("text", text_id)
        return text

    async def get_streamed_text(self, task_id: str, epoch: int) -> str | None:
        """Return the text so far of a reply that is being streamed; None once the task or that epoch has ended.

        Raises NotFound for an unknown task.
        """
        run = await self.get_task(task_id)
        for stored_id in self.sessions.possible_stored_ids(run.session_id):
            text = self._host.event_bus.find_streamed_text(stored_id, task_id, epoch)
            if text is not None:
                return text
        return None

    async def cut_large_fields(self, session_id: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a payload that belongs to a session with its large fields cut, and store the texts they refer to."""
        cut = cut_payload(payload, session_id)
        if cut.texts:
            await self._store.texts.add(await self.sessions.find_stored_id(session_id), cut.texts)
        return cut.data

    async def list_events(self, session_id: str, after_seq: int = 0, limit: int = 1000) -> list[LoggedEvent]:
        """Return the stored events of a session after a seq; old ones are trimmed. Raises NotFound."""
        stored_id = await self.sessions.find_stored_id(session_id)
        rows = await self._store.events.list_after(stored_id, after_seq, limit)
        cut = [await cut_stored_event(row, stored_id, self._store.texts) for row in rows]
        return [to_client_logged_event(row, stored_id, self.user.id) for row in cut]

    async def rename_session(self, session_id: str, title: str) -> SessionSummary:
        """Set the title of a session and return the session. Raises NotFound."""
        await self._store.sessions.rename(await self.sessions.find_stored_id(session_id), title)
        return await self.get_session(session_id)

    async def set_session_model(self, session_id: str, model: str | None) -> SessionSummary:
        """Set the model of a session; None restores routing. Raises NotFound (session or model)."""
        stored_id = await self.sessions.find_stored_id(session_id)
        if model is not None:
            self._host.services.gateway.find(model)
        await self._store.sessions.set_model(stored_id, model)
        return await self.get_session(session_id)

    async def fork_session(
        self, session_id: str, new_session_id: str | None = None, *, up_to_seq: int | None = None
    ) -> SessionSummary:
        """Copy a session, completely or up to a seq; the owner stays. Raises NotFound, InputError."""
        source = await self.sessions.find(session_id)
        copy = await self.sessions.choose_copy_id(new_session_id or self.new_session_id(), source.owner)
        await self._store.sessions.fork(source.id, copy, upto=up_to_seq)
        return self.sessions.to_client_session(await self._store.sessions.get(copy))

    async def delete_session(self, session_id: str) -> None:
        """Do what `Host.delete_session` does. Raises NotFound, Busy."""
        await self._host.delete_session(await self.sessions.find_stored_id(session_id))

    async def get_task(self, task_id: str) -> Run:
        """Return the run of a task. Raises NotFound."""
        if self.user.operator:
            return await self._store.runs.get(task_id)
        run = await self._store.runs.find(task_id)
        if run is None:
            raise NotFound("task", task_id)
        if run.owner != self.user.id:
            self.sessions.refuse("task", task_id)
        return self.sessions.to_client_run(run)

    async def list_tasks(
        self,
        *,
        session_id: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
        before: str | None = None,
        all_users: bool = False,
    ) -> list[Run]:
        """Return the user's tasks, newest first; with `all_users` (operators only) those of all users. Of large answers
        they have the beginning.

        With `before`, a task id, the tasks that were accepted before it. Raises NotFound for it.
        """
        owner = self._owner_filter(all_users)
        stored_id = await self.sessions.filter_id(session_id)
        if before is not None:
            await self.get_task(before)  # nobody learns from it whether another user's task exists
        runs = await self._store.runs.list(
            session_id=stored_id, owner=owner, status=status, limit=limit, whole=False, before=before
        )
        return [self.sessions.to_client_run(run) for run in runs]

    async def get_approval(self, approval_id: str) -> ApprovalRecord:
        """Return an approval. Raises NotFound, after the same queries for what is another's and what does not exist."""
        record = await self._store.approvals.find(approval_id)
        run = await self._store.runs.find(task_id_from_request(record.request) if record is not None else approval_id)
        if record is None:
            raise NotFound("approval", approval_id)
        if not self.user.operator and (run is None or run.owner != self.user.id):
            self.sessions.refuse("approval", approval_id)
        return self.sessions.to_client_approval(record)

    async def list_approvals(
        self, *, session_id: str | None = None, open_only: bool = True, all_users: bool = False
    ) -> list[ApprovalRecord]:
        """Return the user's approvals, oldest first; with `all_users` (operators only) those of all users."""
        owner = self._owner_filter(all_users)
        stored_id = await self.sessions.filter_id(session_id)
        records = await self._store.approvals.list(open_only=open_only, session_id=stored_id)
        return [
            self.sessions.to_client_approval(record)
            for record in records
            if owner is None or await self._owner_of_task(record) == owner
        ]

    def list_providers(self) -> list[ProviderStatistics]:
        """Return the providers as this process knows them, by priority. Operators only. Raises Forbidden."""
        self.require_operator()
        return self._host.services.gateway.statistics()

    def reset_provider(self, provider_id: str) -> ProviderStatistics:
        """End cool-downs of a provider, enable its rejected keys and close its circuit; return its statistics.

        Operators only; the reset is logged. Raises Forbidden, NotFound.
        """
        self.require_operator()
        gateway, clock = self._host.services.gateway, self._host.services.clock
        before = gateway.reset_provider(provider_id)
        cooling, disabled = (before.keys.cooling, before.keys.disabled) if before.keys is not None else (0, 0)
        log.info(
            "provider %s was reset by %s: %d keys were cooling down, %d were disabled, the circuit was %s",
            provider_id,
            self.user.id,
            cooling,
            disabled,
            before.circuit,
        )
        return gateway.find_provider(provider_id).statistics(clock.monotonic())

    def now(self) -> datetime:
        """Return the host's time."""
        return self._host.services.clock.now()

    def require_operator(self) -> None:
        """Raise Forbidden unless the user is an operator."""
        if not self.user.operator:
            raise Forbidden("only an operator may do this")

    async def _owner_of_task(self, record: ApprovalRecord) -> str | None:
        """Return the owner of the task, or None if the task was deleted."""
        run = await self._store.runs.find(task_id_from_request(record.request))
        return None if run is None else run.owner

    def _owner_filter(self, everything: bool) -> str | None:
        if everything:
            self.require_operator()
            return None
        return self.user.id
