"""Handlers of client events: one function per event, which returns the payload of its acknowledgement."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

from sophon.approvals import Decision
from sophon.errors import SophonError
from sophon_hosting import desk
from sophon_hosting.approvals import task_of
from sophon_hosting.hub.client import Client
from sophon_hosting.hub.requests import (
    REQUESTS,
    CancelTask,
    DecideApproval,
    JoinSession,
    LeaveSession,
    ListApprovals,
    ListSessions,
    ListTasks,
    SendMessage,
    read_request,
)
from sophon_hosting.views import approval_view, session_view, task_view

Answer: TypeAlias = dict[str, Any]
"""Payload of a successful acknowledgement, without `ok`."""

LIST_LENGTH = 1000
"""Maximum number of items in a list; further ones are dropped."""

LEFT_OUT = ("text", "answer")
"""Fields that tasks lack in a list, because they may be long; HTTP returns them per task."""

LONGEST_NAME = 100
"""Characters of an unknown event's or namespace's name that an error message repeats."""

DECIDED = {"approve": "approved", "reject": "rejected", "edit": "edited"}
"""Status of an approval by decision."""


class UnknownEvent(SophonError):
    """The client sent an event name that has no handler."""

    code = "unknown_event"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name[:LONGEST_NAME]
        near = get_close_matches(self.name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known events: {', '.join(known)}"
        super().__init__(f"unknown event {self.name!r}{hint}")


async def answer(client: Client, name: str, arguments: Sequence[object]) -> Answer:
    """Run the handler of an event and return its result. Raises UnknownEvent, InputError, and the handler's errors."""
    handler = _HANDLERS.get(name)
    if handler is None:
        raise UnknownEvent(name, list(REQUESTS))
    return await handler(client, read_request(REQUESTS[name], arguments))


async def _send_message(client: Client, request: SendMessage) -> Answer:
    receipt = await client.send(desk.SendMessage(**request.model_dump()))
    return {"task_id": receipt.task_id, "session_id": receipt.session_id, "position": receipt.position}


async def _join_session(client: Client, request: JoinSession) -> Answer:
    joined = await client.join(request.session_id, request.last_seq or 0)
    events = [event.to_json() for event in joined.events]
    partial = {"partial": True} if joined.partial else {}
    return {"session_id": request.session_id, "seq": joined.seq, "events": events, **partial}


async def _leave_session(client: Client, request: LeaveSession) -> Answer:
    client.leave(request.session_id)
    return {"session_id": request.session_id}


async def _cancel_task(client: Client, request: CancelTask) -> Answer:
    run = await client.desk.cancel(request.task_id)
    return {"task_id": run.id, "status": run.status if run.over else "cancelling"}


async def _decide_approval(client: Client, request: DecideApproval) -> Answer:
    decision = Decision(request.decision, request.reason or "", request.arguments or {})
    record = await client.desk.decide(request.approval_id, decision)
    return {"approval_id": record.request.id, "task_id": task_of(record.request), "status": DECIDED[request.decision]}


async def _list_approvals(client: Client, _request: ListApprovals) -> Answer:
    records = await client.desk.approvals(everything=client.watches)
    return {"items": [approval_view(record) for record in records[:LIST_LENGTH]]}


async def _list_sessions(client: Client, _request: ListSessions) -> Answer:
    sessions = await client.desk.sessions(everything=client.watches)
    return {"items": [session_view(session) for session in sessions[:LIST_LENGTH]]}


async def _list_tasks(client: Client, _request: ListTasks) -> Answer:
    views = [task_view(run) for run in await client.desk.tasks(everything=client.watches)]
    return {"items": [{key: value for key, value in view.items() if key not in LEFT_OUT} for view in views]}


_HANDLERS: Mapping[str, Callable[[Client, Any], Awaitable[Answer]]] = {
    "send_message": _send_message,
    "join_session": _join_session,
    "leave_session": _leave_session,
    "cancel_task": _cancel_task,
    "decide_approval": _decide_approval,
    "list_approvals": _list_approvals,
    "list_sessions": _list_sessions,
    "list_tasks": _list_tasks,
}
