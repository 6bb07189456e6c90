"""Authorized host: the operations of one user on a host. Socket.IO and HTTP use it, so each permission exists once."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sophon.approvals import Decision
from sophon.builtin_tools.custom_tools import refresh_custom_tools
from sophon.errors import CompositionError, InputError, NotFound, SessionTaken
from sophon.events import CustomToolChanged
from sophon.learning.feedback import Feedback
from sophon.messages import ToolCall
from sophon.models.gateway.provider import ProviderStatistics
from sophon.preferences import Preferences
from sophon.security.permission_levels import FULL_HISTORY
from sophon.skills.custom_tools import CustomTool, CustomToolStore
from sophon.stores.approvals.contract import ApprovalRecord
from sophon.stores.events.contract import LoggedEvent
from sophon.stores.runs.contract import InboundKey, Run, RunStatus
from sophon.stores.sessions.contract import SessionPage, SessionRecord, SessionSummary
from sophon.stores.sub_agents.contract import SubAgentRun
from sophon.tools.tool import Tool
from sophon.traces.trace import Trace
from sophon.turn_options import check_metadata
from sophon.turn_permissions import build_tool_permissions
from sophon_hosting.client_api.authentication import User
from sophon_hosting.client_api.client_errors import Forbidden, TooLarge, Unavailable
from sophon_hosting.client_api.client_message import MAX_CONTENT_CHARACTERS, ClientMessage
from sophon_hosting.client_api.conversation_mode import (
    OffTheRecordLost,
    OtherMode,
    by_approval,
    by_session,
    by_task,
)
from sophon_hosting.client_api.history_view import HistoryView, find_own_text
from sophon_hosting.client_api.rights import CALL_SCOPE, HUB_CHANNEL, OPERATOR_SCOPE, ClientRights
from sophon_hosting.client_api.serialization import route_average_to_json, sub_agent_to_json
from sophon_hosting.client_api.session_scope import to_client_logged_event
from sophon_hosting.client_api.user_sessions import UserSessions, validate_id
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.large_fields import cut_payload
from sophon_hosting.events.replay import cut_stored_event
from sophon_hosting.events.wire_event import EventListener
from sophon_hosting.host import Host, RunRequest, TaskReceipt
from sophon_hosting.observability.trace_id import trace_id_from_traceparent
from sophon_hosting.off_the_record.host import OffTheRecordHost, is_generated_id
from sophon_hosting.policy_overview import describe_access, describe_policy, try_call
from sophon_hosting.run_authorship import is_direct_call
from sophon_hosting.runs.approval_tasks import task_id_from_request
from sophon_hosting.runs.approvals import check_session
from sophon_hosting.runs.sub_agent_cancellation import cancel_sub_agent
from sophon_hosting.tool_errors import ToolError

if TYPE_CHECKING:
    from sophon.mcp.server_status import ServerStatus

log = logging.getLogger("sophon")

SESSION_TRIES = 5
"""How often a session is looked up that others delete and take at the same time."""


class AuthorizedHost:
    """Application service: the operations of one user on a host, each with its permission check.

    A user reads and changes only their own sessions and tasks. An operator reads everything, decides and cancels
    everywhere, and sends messages only to their own sessions. What belongs to another user raises NotFound, like what
    does not exist, and a session id that another user has taken names a session of the user's own (`session_scope`).
    Operators know what exists, so they get Forbidden instead; `knows_all` says that the user is one who acts without
    the rights of an operator.

    `rights` limit both by the user's permission level, and by the scopes of the token: operations raise LevelNeeded
    and ScopeNeeded. Who lacks the permission FullHistory reads conversations, events, tasks and approvals redacted.
    """

    def __init__(self, host: Host, user: User, *, knows_all: bool = False) -> None:
        self._host, self.user = host, user
        off = host.off_the_record
        self.off_the_record = (
            OffTheRecordSessions(off, user, knows_all=knows_all) if isinstance(off, OffTheRecordHost) else None
        )
        self._store = host.services.store
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
        if message.call is None:
            self.rights.require("Chat")
        else:
            self.check_call(message.call)
        if message.model is not None:
            self.rights.require("ChooseModel")
        validate_id("client_message_id", message.client_message_id)
        if await self.is_off_the_record(message):
            return await self._sessions_off_the_record().accept_message(message, before_accept=before_accept)
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

    def check_call(self, call: ToolCall) -> None:
        """Check a tool call that is no part of a turn, before it becomes a run.

        Raises LevelNeeded, ScopeNeeded, NotFound for a tool that the user may not use like for one that does not exist,
        InvalidArguments, and InputError if the chain of this host runs no tools.
        """
        self.rights.require_calls()
        tool = next((each for each in self.list_tools() if each.name == call.name), None)
        if tool is None:
            raise NotFound("tool", call.name)
        if tool.nested:
            raise InputError(f"{call.name} runs a turn of its own: send a message instead")
        tool.schema.validate(tool.name, call.arguments)
        try:
            self._host.direct_chains.find(self._host.chain)
        except CompositionError as error:
            raise InputError(f"this host runs no tools outside of a turn: {error}") from error

    async def is_off_the_record(self, message: ClientMessage) -> bool:
        """Return whether a message is for the host off the record. Raises OtherMode, OffTheRecordLost."""
        off, named = self.off_the_record, message.session_id
        if off is None or named is None:
            return message.mode == "otr"
        if await off.has_session(named):
            if message.mode != "otr":
                raise OtherMode(named, is_off_the_record=True)
            return True
        is_known = await self.has_session(named)
        if is_generated_id(named) and not is_known:
            raise OffTheRecordLost(named)
        if message.mode == "otr" and is_known:
            raise OtherMode(named, is_off_the_record=False)
        return message.mode == "otr"

    async def check_not_lost(self, session_id: str) -> None:
        """Raise OffTheRecordLost for the id of a conversation off the record that has ended."""
        if is_generated_id(session_id) and not await self.has_session(session_id):
            raise OffTheRecordLost(session_id)

    async def has_session(self, session_id: str) -> bool:
        """Return whether the user may read a stored session of that name."""
        try:
            await self.sessions.find(session_id)
        except (NotFound, Forbidden):
            return False
        return True

    def _sessions_off_the_record(self) -> "OffTheRecordSessions":
        if self.off_the_record is None:
            raise InputError("this host has no conversations off the record")
        return self.off_the_record

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
                temperature=None if message.metadata is None else check_metadata(message.metadata),
                trace=message.trace or trace_id_from_traceparent(message.traceparent),
                traceparent=message.traceparent,
                instructions=message.instructions,
                images=message.images,
                call=message.call,
                session_owner=self.user.id,
            )
        )

    async def get_preferences(self) -> Preferences:
        """Return how the user wants to be answered."""
        self.rights.require_scope("Read")
        return await self._host.services.store.preferences.get(self.user.id)

    async def set_preferences(self, preferences: Preferences) -> Preferences:
        """Replace how the user wants to be answered. Raises Forbidden, NotFound for a model that does not exist."""
        self.rights.require("Chat")
        if preferences.model:
            self.rights.require("ChooseModel")
            self._host.services.gateway.find(preferences.model)
        await self._host.services.store.preferences.put(self.user.id, preferences)
        return preferences

    @by_task
    async def cancel_task(self, task_id: str) -> Run:
        """Cancel a task; a finished task stays unchanged. Raises NotFound."""
        self.rights.require_scope("Read")
        self.rights.require_level("Chat")
        run = await self.get_task(task_id)
        self.rights.require_scope(CALL_SCOPE if is_direct_call(run) else "Chat")
        return self._to_client_run(await self._host.cancel(task_id))

    @by_task
    async def list_sub_agents(self, task_id: str) -> list[dict[str, Any]]:
        """Return the sub-agents of a task, oldest first, as JSON. Raises NotFound."""
        await self.get_task(task_id)
        return [self._sub_agent_to_json(each) for each in await self._store.sub_agents.list_for_task(task_id)]

    async def list_running_sub_agents(self, *, all_users: bool = False) -> list[dict[str, Any]]:
        """Return the sub-agents of the user that work or wait, oldest first, as JSON. Raises Forbidden."""
        self.rights.require_scope("Read")
        found = await self._store.sub_agents.list_unfinished(self._owner_filter(all_users))
        runs = {each.task_id: await self._store.runs.find(each.task_id) for each in found}
        shown: list[dict[str, Any]] = []
        for each in found:
            run = runs[each.task_id]
            if run is not None and not run.is_finished:  # one that was interrupted with its task for good has no end
                shown.append(self._sub_agent_to_json(each))
        return shown

    @by_task
    async def cancel_sub_agent(self, task_id: str, sub_agent_id: str) -> str:
        """Cancel a sub-agent of a task, which goes on; return its state. Raises NotFound."""
        self.rights.require_level("Chat")
        self.rights.require_scope("Chat")
        await self.get_task(task_id)
        row = await self._store.sub_agents.find(sub_agent_id)
        if row is None or row.task_id != task_id:
            raise NotFound("sub-agent", sub_agent_id)
        return await cancel_sub_agent(self._host.services, self._host.approvals, row, self.user.id)

    def _sub_agent_to_json(self, row: SubAgentRun) -> dict[str, Any]:
        if self.view is not None:
            row = self.view.sub_agent(row)
        return sub_agent_to_json(replace(row, session_id=self.sessions.to_client_id(row.session_id)))

    @by_task
    async def send_feedback(self, task_id: str, value: float, *, text: str = "", source: str = "api") -> None:
        """Record what the user thinks of the answer of a task. Raises NotFound, InputError."""
        self.rights.require("Chat")
        await self.get_task(task_id)
        run = await self._store.runs.get(task_id)
        await self._host.feedback.record(run, self.user.id, value, text=text, source=source)

    def to_client_trace(self, trace: Trace) -> Trace:
        """Return the trace of a turn as the client sees it."""
        if self.view is not None:
            trace = self.view.trace(trace, is_own=trace.principal == self.user.id)
        return replace(trace, session_id=self.sessions.to_client_id(trace.session_id))

    @by_task
    async def find_feedback(self, task_id: str) -> Feedback | None:
        """Return what the user said about the answer of a task; None if nothing. Raises NotFound."""
        await self.get_task(task_id)
        given = await self._store.trajectories.list_feedback(task_id)
        return next((each for each in given if each.principal == self.user.id), None)

    @by_approval
    async def decide_approval(
        self, approval_id: str, decision: Decision, *, session_id: str | None = None
    ) -> ApprovalRecord:
        """Decide an approval of the user's tasks; an operator may decide all. A given `session_id` must be that of the
        approval. Raises NotFound, DecisionRefused.
        """
        self.rights.require("Approvals")
        check_session(await self.get_approval(approval_id), session_id)
        return self.sessions.to_client_approval(await self._host.approvals.decide(approval_id, decision, self.user.id))

    @by_session
    async def subscribe(self, session_id: str, listener: EventListener) -> None:
        """Subscribe to the events of a session, until `unsubscribe`; they have stored session ids. Raises NotFound."""
        self.rights.require_scope("Read")
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
        if self.off_the_record is not None:
            self.off_the_record.unsubscribe(session_id, listener)
        for stored_id in self.sessions.possible_stored_ids(session_id):
            self._host.event_bus.unsubscribe(stored_id, listener)

    def new_session_id(self) -> str:
        """Return an id for a new session."""
        return self._host.services.clock.new_id()

    async def open_off_the_record(self) -> SessionSummary:
        """Begin a conversation off the record, without a message. Raises InputError, OffTheRecordFull."""
        off = self._sessions_off_the_record()
        return await off.ensure_own_session(off.new_session_id())

    async def ensure_own_session(self, session_id: str) -> SessionSummary:
        """Return a session of the user; create it if it does not exist. Raises InputError, Forbidden (operators)."""
        self.rights.require("Chat")
        return self.sessions.to_client_session(await self.sessions.find_or_create_own(session_id))

    @by_session
    async def get_session(self, session_id: str) -> SessionSummary:
        """Return a session. Raises NotFound."""
        self.rights.require_scope("Read")
        return self._to_client_session(await self.sessions.find(session_id))

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
        self.rights.require_scope("Read")
        owner = self._owner_filter(all_users)
        if owner is None and search:
            self.rights.require(FULL_HISTORY)  # it searches in titles, which are hidden
        page = await self._store.sessions.list_page(owner, search=search, limit=limit, offset=offset, cursor=cursor)
        return replace(page, items=[self._to_client_session(session) for session in page.items])

    def _to_client_session(self, session: SessionSummary) -> SessionSummary:
        shown = session if self.view is None else self.view.session(session, is_own=session.owner == self.user.id)
        return self.sessions.to_client_session(shown)

    @by_session
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
        self.rights.require_scope("Read")
        session = await self.sessions.find(session_id)
        records = await self._store.sessions.list_records(
            session.id, after_seq, before=before_seq, limit=limit, max_bytes=max_bytes
        )
        if self.view is None:
            return records
        is_own = session.owner == self.user.id
        return [self.view.record(record, is_own=is_own) for record in records]

    async def get_record(self, session_id: str, seq: int) -> SessionRecord:
        """Return one record of a session. Raises NotFound."""
        records = await self.list_records(session_id, seq - 1, limit=1)
        if not records or records[0].seq != seq:
            raise NotFound("message", str(seq))
        return records[0]

    @by_session
    async def get_text(self, session_id: str, text_id: str) -> str:
        """Return a large text of a session, to which an event refers. Raises NotFound.

        Without FullHistory, only the text of a message in one of the user's own sessions.
        """
        self.rights.require_scope("Read")
        session = await self.sessions.find(session_id)
        if self.view is None:
            text = await self._store.texts.get(session.id, text_id)
        elif session.owner == self.user.id:
            text = find_own_text(await self._store.sessions.list_records(session.id), text_id)
        else:
            text = None
        if text is None:
            raise NotFound("text", text_id)
        return text

    @by_task
    async def get_streamed_text(self, task_id: str, epoch: int) -> str | None:
        """Return the text so far of a reply that is being streamed; None once the task or that epoch has ended.

        Raises NotFound for an unknown task.
        """
        run = await self.get_task(task_id)
        if self.view is not None and (self.view.hides_streams or run.owner != self.user.id):
            return None
        for stored_id in self.sessions.possible_stored_ids(run.session_id):
            text = self._host.event_bus.find_streamed_text(stored_id, task_id, epoch)
            if text is not None:
                return text
        return None

    @by_session
    async def cut_large_fields(self, session_id: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a payload that belongs to a session with its large fields cut, and store the texts they refer to."""
        cut = cut_payload(payload, session_id)
        if cut.texts:
            await self._store.texts.add(await self.sessions.find_stored_id(session_id), cut.texts)
        return cut.data

    @by_session
    async def list_events(self, session_id: str, after_seq: int = 0, limit: int = 1000) -> list[LoggedEvent]:
        """Return the stored events of a session after a seq; old ones are trimmed. Raises NotFound."""
        self.rights.require_scope("Read")
        session = await self.sessions.find(session_id)
        rows = await self._store.events.list_after(session.id, after_seq, limit)
        cut = [await cut_stored_event(row, session.id, self._store.texts) for row in rows]
        return self._to_client_logged_events(session, cut)

    @by_session
    async def list_traces(self, session_id: str, task_id: str) -> list[LoggedEvent]:
        """Return the traces of a task in one of the user's sessions. Raises NotFound."""
        self.rights.require_scope("Read")
        session = await self.sessions.find(session_id)
        return self._to_client_logged_events(session, await self._store.events.list_traces(session.id, task_id))

    def _to_client_logged_events(self, session: SessionSummary, rows: Sequence[LoggedEvent]) -> list[LoggedEvent]:
        view, is_own = self.view, session.owner == self.user.id
        shown = rows if view is None else [view.logged_event(row, is_own=is_own) for row in rows]
        return [to_client_logged_event(row, session.id, self.user.id) for row in shown]

    @by_session
    async def rename_session(self, session_id: str, title: str) -> SessionSummary:
        """Set the title of a session and return the session. Raises NotFound."""
        self.rights.require("Chat")
        await self._store.sessions.rename(await self.sessions.find_stored_id(session_id), title)
        return await self.get_session(session_id)

    @by_session
    async def set_session_model(self, session_id: str, model: str | None) -> SessionSummary:
        """Set the model of a session; None restores routing. Raises NotFound (session or model)."""
        self.rights.require("ChooseModel")
        stored_id = await self.sessions.find_stored_id(session_id)
        if model is not None:
            self._host.services.gateway.find(model)
        await self._store.sessions.set_model(stored_id, model)
        return await self.get_session(session_id)

    async def fork_session(
        self, session_id: str, new_session_id: str | None = None, *, up_to_seq: int | None = None
    ) -> SessionSummary:
        """Copy a session, completely or up to a seq; the owner stays. Raises NotFound, InputError."""
        self.rights.require("Chat")
        if self.off_the_record is not None and await self.off_the_record.has_session(session_id):
            raise InputError("a conversation off the record is not copied")
        source = await self.sessions.find(session_id)
        copy = await self.sessions.choose_copy_id(new_session_id or self.new_session_id(), source.owner)
        await self._store.sessions.fork(source.id, copy, upto=up_to_seq)
        return self.sessions.to_client_session(await self._store.sessions.get(copy))

    @by_session
    async def delete_session(self, session_id: str) -> None:
        """Do what `Host.delete_session` does. Raises NotFound, Busy."""
        self.rights.require("Chat")
        await self._host.delete_session(await self.sessions.find_stored_id(session_id))

    @by_task
    async def get_task(self, task_id: str) -> Run:
        """Return the run of a task. Raises NotFound."""
        self.rights.require_scope("Read")
        if self.user.operator:
            return self._to_client_run(await self._store.runs.get(task_id))
        run = await self._store.runs.find(task_id)
        if run is None:
            raise NotFound("task", task_id)
        if run.owner != self.user.id:
            self.sessions.refuse("task", task_id)
        return self._to_client_run(run)

    def _to_client_run(self, run: Run) -> Run:
        shown = run if self.view is None else self.view.run(run, is_own=run.owner == self.user.id)
        return self.sessions.to_client_run(shown)

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
        self.rights.require_scope("Read")
        owner = self._owner_filter(all_users)
        if session_id is not None and self.off_the_record is not None:
            off = self.off_the_record
            if await off.has_session(session_id):
                return await off.list_tasks(session_id=session_id, status=status, limit=limit, before=before)
        stored_id = await self.sessions.filter_id(session_id)
        if before is not None:
            await self.get_task(before)  # nobody learns from it whether another user's task exists
        runs = await self._store.runs.list(
            session_id=stored_id, owner=owner, status=status, limit=limit, whole=False, before=before
        )
        return [self._to_client_run(run) for run in runs]

    @by_approval
    async def get_approval(self, approval_id: str) -> ApprovalRecord:
        """Return an approval. Raises NotFound, after the same queries for what is another's and what does not exist."""
        self.rights.require_scope("Read")
        record = await self._store.approvals.find(approval_id)
        run = await self._store.runs.find(task_id_from_request(record.request) if record is not None else approval_id)
        if record is None:
            raise NotFound("approval", approval_id)
        if not self.user.operator and (run is None or run.owner != self.user.id):
            self.sessions.refuse("approval", approval_id)
        return self._to_client_approval(record)

    def _to_client_approval(self, record: ApprovalRecord) -> ApprovalRecord:
        return self.sessions.to_client_approval(record if self.view is None else self.view.approval(record))

    async def list_approvals(
        self, *, session_id: str | None = None, open_only: bool = True, all_users: bool = False
    ) -> list[ApprovalRecord]:
        """Return the user's approvals, oldest first; with `all_users` (operators only) those of all users."""
        self.rights.require_scope("Read")
        owner = self._owner_filter(all_users)
        stored_id = await self.sessions.filter_id(session_id)
        records = await self._store.approvals.list(open_only=open_only, session_id=stored_id)
        found = [
            self._to_client_approval(record)
            for record in records
            if owner is None or await self._owner_of_task(record) == owner
        ]
        if self.off_the_record is None:
            return found
        return found + await self.off_the_record.list_approvals(
            session_id=session_id, open_only=open_only, all_users=all_users
        )

    def describe_policy(self) -> dict[str, Any]:
        """Return what is allowed to the user; for operators with the rules and settings behind it."""
        self.rights.require_scope("Read")
        return describe_policy(self._host.services, self._host.chain, self.user.id, is_operator=self.user.operator)

    def try_call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the rules say about a call of the user, and what its risk leads to, if the tool is known."""
        self.rights.require_scope("Read")
        services = self._host.services
        trial = try_call(
            tool, arguments, settings=services.settings, folder=services.folder, principal=self.user.id
        ).to_json()
        return {**trial, **describe_access(services, tool, self.user.id)}

    def list_tools(self) -> list[Tool]:
        """Return the tools that the user may use; all of them while the guard Authorization is off."""
        services = self._host.services
        visible = [each for each in services.registry if each.owner in (None, self.user.id)]
        if not services.settings.guards.authorization.enabled:
            return visible
        allowed = build_tool_permissions(
            services.settings, self.user.id, level=self.rights.level, at=services.clock.now(), channel=HUB_CHANNEL
        )
        return allowed.filter(visible)

    async def find_tool_error(self, tool: str) -> ToolError | None:
        """Return the last error of a tool in a session of the user, for operators in any; None if there was none.

        Without FullHistory it has no text.
        """
        for error in self._host.tool_errors.find(tool):
            session = await self._store.sessions.find(error.session_id)
            is_own = session is not None and session.owner == self.user.id
            if is_own or self.user.operator:
                return error if self.view is None else replace(error, text="")
        return None

    async def list_custom_tools(self) -> list[CustomTool]:
        """Return the user's custom tools, also those that are off; for operators those of all users."""
        self.rights.require_scope("Read")
        store = self._host.services.custom_tools
        if store is None:
            return []
        found = await self._host.services.clock.run_in_thread(store.read)
        return [each for each in found.tools.values() if self.user.operator or each.owner == self.user.id]

    async def change_custom_tool(
        self, name: str, *, enabled: bool | None = None, shared: bool | None = None
    ) -> CustomTool:
        """Switch a custom tool of the user on or off, or share it, which is for operators only; logged.

        Raises Forbidden, NotFound, InputError.
        """
        if shared is not None:
            self.require_operator()
        changes = {"enabled": enabled is True, "disabled": enabled is False, "shared": shared is True}
        changes["unshared"] = shared is False
        return await self._act_on_custom_tool(
            name,
            [change for change, is_meant in changes.items() if is_meant],
            lambda store, user: store.change(name, user, enabled=enabled, shared=shared),
        )

    async def delete_custom_tool(self, name: str) -> CustomTool:
        """Delete a custom tool of the user, an operator that of any user; logged. Raises NotFound, InputError."""
        return await self._act_on_custom_tool(name, ["deleted"], lambda store, user: store.delete(name, user))

    async def _act_on_custom_tool(
        self, name: str, changes: Sequence[str], act: Callable[[CustomToolStore, str | None], CustomTool]
    ) -> CustomTool:
        self.rights.require_scope("Approvals")
        services = self._host.services
        store = services.custom_tools
        if store is None:
            raise NotFound("custom tool", name)
        user = None if self.user.operator else self.user.id

        def run() -> CustomTool:
            changed = act(store, user)
            refresh_custom_tools(services.toolbox, store, services.settings.tools.disabled)
            return changed

        changed = await services.clock.run_in_thread(run)
        for change in changes:
            log.info("the custom tool %s was %s by %s", changed.name, change, self.user.id)
            self._host.event_bus.emit(CustomToolChanged(tool=changed.full_name, change=change, by=self.user.id))
        return changed

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

    def list_mcp_servers(self) -> "list[ServerStatus]":
        """Return the MCP servers whose tools the host offers. Operators only. Raises Forbidden."""
        self.require_operator()
        return [] if self._host.mcp is None else self._host.mcp.list_status()

    async def accept_mcp_tools(self, server: str, digests: Mapping[str, str]) -> "ServerStatus":
        """Accept definitions of tools, each given with its digest, and return the server. Operators only; logged.

        Raises Forbidden, NotFound, InputError for a definition that is another one by now, and StoreError.
        """
        self.require_operator()
        if self._host.mcp is None:
            raise NotFound("MCP server", server)
        log.info("%s accepts tools of the MCP server %s", self.user.id, server)
        return await self._host.mcp.accept(server, digests)

    async def list_webhooks(self) -> list[dict[str, Any]]:
        """Return the webhooks, the outgoing ones with what waits and what was given up. Operators only."""
        self.require_operator()
        return [] if self._host.webhooks is None else await self._host.webhooks.describe()

    async def test_webhook(self, webhook_id: str) -> str:
        """Send a test event to an outgoing webhook; return the id of its entry. Operators only. Raises NotFound."""
        self.require_operator()
        if self._host.webhooks is None:
            raise NotFound("outgoing webhook", webhook_id)
        return await self._host.webhooks.send_test(webhook_id)

    async def restart_mcp_server(self, server: str) -> "ServerStatus":
        """Connect to a server again, with a new crash budget, and return it. Operators only; logged.

        Raises Forbidden, NotFound, InputError for a disabled server.
        """
        self.require_operator()
        if self._host.mcp is None:
            raise NotFound("MCP server", server)
        log.info("%s restarts the MCP server %s", self.user.id, server)
        return await self._host.mcp.restart(server)

    async def list_route_averages(self) -> list[dict[str, Any]]:
        """Return the moving averages of routing. Operators only. Raises Forbidden."""
        self.require_operator()
        return [route_average_to_json(each) for each in await self._store.route_averages.list_all()]

    async def explain_route(self, text: str) -> str:
        """Return what routing would choose for a message of this user, and why. Operators only. Raises Forbidden."""
        self.require_operator()
        return await self._host.services.explain_route(text, principal=self.user.id)

    async def reset_routing(self) -> int:
        """Forget the averages and demotions of routing; return how many averages there were. Operators only; logged.

        Raises Forbidden.
        """
        self.require_operator()
        count = await self._host.services.router.reset(self._store)
        log.info("routing was reset by %s: %d averages were deleted", self.user.id, count)
        return count

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

    async def _owner_of_task(self, record: ApprovalRecord) -> str | None:
        """Return the owner of the task, or None if the task was deleted."""
        run = await self._store.runs.find(task_id_from_request(record.request))
        return None if run is None else run.owner

    def _owner_filter(self, everything: bool) -> str | None:
        if everything:
            self.require_operator()
            return None
        return self.user.id


class OffTheRecordSessions(AuthorizedHost):
    """The conversations off the record of one user. They are in no list of sessions or tasks, except by their id.

    Operators get no more of them than of their own, except the approvals, which they decide.
    """

    def __init__(self, host: OffTheRecordHost, user: User, *, knows_all: bool = False) -> None:
        super().__init__(host, user, knows_all=knows_all)
        self._off_host = host

    @property
    def event_bus(self) -> EventBus:
        """The event bus of these conversations."""
        return self._off_host.event_bus

    def new_session_id(self) -> str:
        """Return an id for a new session."""
        return self._off_host.new_session_id()

    async def has_session(self, session_id: str) -> bool:
        """Return whether the user has a conversation off the record of that name."""
        found = [await self._store.sessions.find(each) for each in self.sessions.possible_stored_ids(session_id)]
        return any(each is not None and each.owner == self.user.id for each in found)

    async def has_task(self, task_id: str) -> bool:
        """Return whether a task of this id is off the record, and may be the user's to see."""
        run = await self._store.runs.find(task_id)
        return run is not None and run.owner == self.user.id

    async def has_approval(self, approval_id: str) -> bool:
        """Return whether an approval is off the record."""
        return await self._store.approvals.find(approval_id) is not None

    async def accept_message(
        self, message: ClientMessage, *, before_accept: Callable[[str], Awaitable[None]] | None = None
    ) -> TaskReceipt:
        """See `AuthorizedHost.accept_message`. Raises OffTheRecordFull, too."""
        named, key = message.session_id, message.client_message_id
        if key is None or not await self._is_repeated(key):
            if named is None or not await self.has_session(named):
                await self._off_host.check_room(self.user.id)
            else:
                await self._off_host.check_length(await self.sessions.find_stored_id(named))
        return await super().accept_message(replace(message, mode="normal"), before_accept=before_accept)

    async def ensure_own_session(self, session_id: str) -> SessionSummary:
        """See `AuthorizedHost.ensure_own_session`. Raises OffTheRecordFull, too."""
        if not await self.has_session(session_id):
            await self._off_host.check_room(self.user.id)
        return await super().ensure_own_session(session_id)

    async def _is_repeated(self, client_message_id: str) -> bool:
        key = InboundKey(HUB_CHANNEL, self.user.id, client_message_id)
        return await self._off_host.find_accepted(key) is not None
