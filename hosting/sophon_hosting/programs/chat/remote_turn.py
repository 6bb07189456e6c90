"""Runs one turn on a host over Socket.IO: sends the message, renders events, answers approvals, reconnects."""

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sophon.approvals import ApprovalKind, ApprovalRequest, Decision, Escalation
from sophon.events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    StreamChunk,
    StreamReset,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    event_from_wire,
)
from sophon.messages import Response
from sophon.tools.tool import Risk
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.features.registry import load_features
from sophon_hosting.operations.client import HostError
from sophon_hosting.programs.chat.approval_prompt import TerminalApprovalGate
from sophon_hosting.programs.chat.chat_session import TurnChoices
from sophon_hosting.programs.chat.large_field_loading import LargeFieldLoader
from sophon_hosting.programs.chat.socketio_connection import HostConnection

INVALID_ARGUMENTS = "invalid_arguments"
"""Error code of the host for edited arguments that do not match the schema; the approval stays pending."""

SETTLED = frozenset({"already_decided", "not_found"})
"""Error codes of the host for an approval that is no longer pending; the turn goes on without this decision."""

UNDECIDED = "undecided"
"""Name of the entry in the queue of events that says that nobody here will decide what the turn waits for."""


class RemoteTurnClient:
    """Runs turns on a host with one connection per turn, so that none is kept open between turns.

    `on_event` receives each event of the turn once and in order, across reconnections; `write_notice` receives notices.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        gate: TerminalApprovalGate,
        on_event: Callable[[Event], None],
        write_notice: Callable[[str], None],
    ) -> None:
        load_features()  # whose events a turn may send, as those of schedules
        self._url, self._auth = url, {"token": token} if token else {}
        self._token = token
        self._gate, self._on_event, self._write_notice = gate, on_event, write_notice

    async def check_connection(self) -> None:
        """Connect and disconnect, to check URL and token. Raises HostError."""
        connection = HostConnection(self._url, self._auth)
        await connection.open()
        await connection.close()

    async def run_turn(self, text: str, choices: TurnChoices, attachments: Sequence[str] = ()) -> Response:
        """Send a message with uploaded files and return the response of its turn. Raises HostError.

        A cancellation of this coroutine cancels the task on the host.
        """
        payload = {"content": text, **_choices_payload(choices)}
        if attachments:
            payload["attachments"] = list(attachments)
        return await self._run("send_message", payload, choices)

    async def regenerate(self, task_id: str, choices: TurnChoices) -> Response:
        """Have the message of a task answered again, in a new branch, which becomes the session. Raises HostError."""
        return await self._run("regenerate", {"task_id": task_id, **_choices_payload(choices)}, choices)

    async def _run(self, event: str, payload: Mapping[str, Any], choices: TurnChoices) -> Response:
        connection = HostConnection(
            self._url, self._auth, on_disconnect=lambda: self._write_notice("connection lost; reconnecting")
        )
        await connection.open()
        large_fields = LargeFieldLoader(self._url, self._token)
        task_id = ""
        try:
            accepted = await connection.send_message(payload, event)
            task_id, choices.session = accepted["task_id"], str(accepted["session_id"])
            return await self._follow_events(connection, large_fields, task_id)
        except asyncio.CancelledError:
            if task_id:
                await asyncio.shield(connection.try_call("cancel_task", {"task_id": task_id}))
            raise
        finally:
            await asyncio.shield(connection.close())
            await asyncio.shield(large_fields.close())

    async def _follow_events(
        self, connection: HostConnection, large_fields: LargeFieldLoader, task_id: str
    ) -> Response:
        received = NewEventFilter()
        prompts: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                name, data = await connection.events.get()
                if name == UNDECIDED:
                    return Response(finish_reason="suspended")
                whole = await large_fields.load(name, data) if data.get("task_id") == task_id else None
                event = event_from_wire(name, whole) if whole is not None else None
                event = received.new_part(event) if event is not None else None
                if event is None:
                    continue
                self._on_event(event)
                if isinstance(event, ApprovalRequested):
                    prompts[event.approval_id] = asyncio.create_task(self._decide(connection, event))
                if isinstance(event, ApprovalResolved) and event.approval_id in prompts:
                    prompts.pop(event.approval_id).cancel()
                response = _response_from_event(event)
                if response is not None:
                    return response
        finally:
            await end_tasks(*prompts.values())

    async def _decide(self, connection: HostConnection, event: ApprovalRequested) -> None:
        """Prompt for a decision until the host accepts it; the approval stays pending after invalid arguments.

        What needs an operator can be rejected only. Ends the turn here, and not at the host, if the input has ended and
        the host takes no decision of this user.
        """
        request = _approval_request_from_event(event)
        if event.needs_operator:
            self._write_notice(f"{event.tool} is waiting for an operator; Ctrl-C cancels the task")
        ask = self._gate.request_rejection if event.needs_operator else self._gate.request
        error: HostError | None = HostError(INVALID_ARGUMENTS, "")
        while error is not None and error.code == INVALID_ARGUMENTS:
            error = await self._send_decision(connection, event, await ask(request))
        if error is not None and error.code not in SETTLED and self._gate.ran_out_of_input:
            self._write_notice(f"task {event.task_id} goes on when somebody else decides about {event.tool}")
            connection.events.put_nowait((UNDECIDED, {}))

    async def _send_decision(
        self, connection: HostConnection, event: ApprovalRequested, decision: Decision
    ) -> HostError | None:
        """Send a decision, and return the error of the host, which has been shown, or None."""
        payload: dict[str, Any] = {"approval_id": event.approval_id, "decision": decision.verdict}
        if decision.verdict == "edit":
            payload["arguments"] = dict(decision.arguments)
        if decision.grant is not None:
            payload["grant"] = decision.grant
        if decision.reason:
            payload["reason"] = decision.reason
        try:
            await connection.call_until_answered("decide_approval", payload)
        except HostError as error:
            self._write_notice(str(error))
            return error
        return None


class NewEventFilter:
    """De-duplicates the events of a turn after a reconnection, by seq, epoch and text offset."""

    def __init__(self) -> None:
        self._seq = 0
        self._epoch = 0
        self._length = 0

    def new_part(self, event: Event) -> Event | None:
        """Return the event, its new part (for a stream chunk), or None if it was received before."""
        if event.seq is not None:
            if event.seq <= self._seq:
                return None
            self._seq = event.seq
        if isinstance(event, StreamReset):
            if event.epoch <= self._epoch:
                return None
            self._epoch, self._length = event.epoch, 0
        if isinstance(event, StreamChunk):
            if event.offset > self._length:  # a chunk before it is missing; the end of the turn has the whole text
                return None
            new_text = event.text[max(self._length - event.offset, 0) :]
            self._length = max(self._length, event.offset + len(event.text))
            if not new_text:
                return None
            event.text = new_text
        return event


def _choices_payload(choices: TurnChoices) -> dict[str, Any]:
    """Return the options of a message.

    The `client_message_id` lets it be sent again if the connection is lost before the answer.
    """
    payload: dict[str, Any] = {"session_id": choices.session, "stream": choices.stream}
    payload["client_message_id"] = secrets.token_hex(10)
    if choices.model is not None:
        payload["model"] = choices.model
    if choices.planning is not None:
        payload["planning"] = choices.planning
    return payload


KINDS: Mapping[str, ApprovalKind] = {"plan": "plan", "question": "question"}
"""Kinds of requests; every other one is that of a tool."""


def _approval_request_from_event(event: ApprovalRequested) -> ApprovalRequest:
    """Build the request for the approval prompt; the digest is empty, because the host checks it."""
    return ApprovalRequest(
        id=event.approval_id,
        kind=KINDS.get(event.kind, "tool"),
        run_id=event.run_id,
        call_id=event.call_id,
        tool=event.tool,
        arguments=event.arguments,
        risk=Risk.parse(event.risk),
        digest="",
        preview=event.preview,
        full_preview=event.full_preview,
        editable=event.editable,
        expires_at=datetime.fromisoformat(event.expires_at) if event.expires_at else None,
        escalation=Escalation.from_json(event.escalation) if event.escalation else None,
        grant_offer=event.grant_offer,
    )


def _response_from_event(event: Event) -> Response | None:
    if isinstance(event, TaskCompleted):
        return Response(event.text, event.finish_reason, event.usage)
    if isinstance(event, TaskFailed):
        return Response(event.text, "error", event.usage, detail=dict(event.error))
    if isinstance(event, TaskCancelled):
        return Response(event.text, "cancelled", event.usage)
    return None
