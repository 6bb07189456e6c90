"""What a client can ask for, and the answer: one function for each event."""

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

LIST_LENGTH = 1000
"""Of the items in a list, the first."""

LEFT_OUT = ("text", "answer")
"""Of a task in a list: they may be long, and are to be had one by one over HTTP."""

LONGEST_NAME = 100
"""Characters of an event's name that are repeated to who sent it."""


DECIDED = {"approve": "approved", "reject": "rejected", "edit": "edited"}
"""What a question is, once a decision was taken."""


class UnknownEvent(SophonError):
    """No event has that name."""

    code = "unknown_event"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name[:LONGEST_NAME]
        near = get_close_matches(self.name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
        super().__init__(f"there is no event {self.name!r}{hint}")


async def answer(client: Client, name: str, arguments: Sequence[object]) -> Answer:
    """The answer to an event. Raises UnknownEvent, InputError, and whatever stands in the way of doing it."""
    known = _ANSWERS.get(name)
    if known is None:
        raise UnknownEvent(name, list(REQUESTS))
    return await known(client, read_request(REQUESTS[name], arguments))


async def _send_message(client: Client, request: SendMessage) -> Answer:
    receipt = await client.send(desk.SendMessage(**request.model_dump()))
    return {"task_id": receipt.task_id, "session_id": receipt.session_id, "position": receipt.position}


async def _join_session(client: Client, request: JoinSession) -> Answer:
    joined = await client.join(request.session_id, request.last_seq or 0)
    events = [frame.to_json() for frame in joined.events]
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


_ANSWERS: Mapping[str, Callable[[Client, Any], Awaitable[Answer]]] = {
    "send_message": _send_message,
    "join_session": _join_session,
    "leave_session": _leave_session,
    "cancel_task": _cancel_task,
    "decide_approval": _decide_approval,
    "list_approvals": _list_approvals,
    "list_sessions": _list_sessions,
    "list_tasks": _list_tasks,
}
