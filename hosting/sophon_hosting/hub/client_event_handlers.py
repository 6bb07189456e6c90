"""Handlers of client events: one function per event, which returns the payload of its acknowledgement."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, cast

from sophon.approvals import Decision, turn_id_from_request
from sophon.errors import NotFound, SophonError
from sophon.stores.approvals.contract import ApprovalRecord
from sophon.stores.sessions.contract import SessionPage
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.client_message import ClientMessage
from sophon_hosting.events.json_encoding import Item, take_items
from sophon_hosting.events.large_fields import cut_payload
from sophon_hosting.features.approvals.results import (
    ApprovalSlice,
    ApprovalView,
    DecidedApproval,
    approval_to_json,
)
from sophon_hosting.features.registry import REGISTRY
from sophon_hosting.features.sessions.history_results import JoinedSession, LeftSession, event_to_json
from sophon_hosting.features.sessions.results import SessionSlice, session_to_json
from sophon_hosting.features.tasks.results import (
    CancelledTask,
    FeedbackReceipt,
    TaskReceiptView,
    TaskSlice,
    receipt_to_json,
    task_summary_to_json,
)
from sophon_hosting.hub.client_event_payloads import (
    PAYLOAD_MODELS,
    CancelTaskPayload,
    DecideApprovalPayload,
    JoinSessionPayload,
    LeaveSessionPayload,
    ListApprovalsPayload,
    ListSessionsPayload,
    ListTasksPayload,
    RegeneratePayload,
    SendFeedbackPayload,
    SendMessagePayload,
    parse_object,
    parse_payload,
)
from sophon_hosting.hub.connected_clients import HubClient
from sophon_hosting.operations.subjects import SESSION

AckPayload: TypeAlias = Mapping[str, Any]
"""Payload of a successful acknowledgement, without `ok`."""

MAX_LIST_ITEMS = 1000
"""Maximum number of items in a list."""

MAX_LIST_BYTES = 900_000
"""Maximum JSON size of the items of a list, so that its acknowledgement fits a frame of 1 MB. HTTP returns them all."""

MAX_EVENT_NAME_CHARACTERS = 100
"""Characters of an unknown event's or namespace's name that an error message repeats."""

LARGE_ANSWER_EVENTS = frozenset({"join_session", "list_approvals", "list_sessions", "list_tasks"})
"""Requests with answers that may be large: they are served one after the other, at the speed at which clients read."""

STATUS_BY_DECISION: Mapping[str, Literal["approved", "rejected", "edited", "answered"]] = {
    "approve": "approved",
    "reject": "rejected",
    "edit": "edited",
    "answer": "answered",
}
"""Status of an approval by decision."""


class UnknownEvent(SophonError):
    """The client sent an event name that has no handler."""

    code = "unknown_event"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name[:MAX_EVENT_NAME_CHARACTERS]
        near = get_close_matches(self.name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known events: {', '.join(known)}"
        super().__init__(f"unknown event {self.name!r}{hint}")


async def handle_event(client: HubClient, name: str, arguments: Sequence[object]) -> AckPayload:
    """Run the handler of an event and return its result. Raises UnknownEvent, InputError, and the handler's errors."""
    if (operation := REGISTRY.by_event.get(name)) is not None:
        caller = client.authorized_host
        operation.check(caller)
        return cast(AckPayload, await operation.call(caller, operation.request.validate(parse_object(arguments))))
    handler = _HANDLERS.get(name)
    if handler is None:
        raise UnknownEvent(name, [*REGISTRY.by_event, *PAYLOAD_MODELS])
    return await handler(client, parse_payload(PAYLOAD_MODELS[name], arguments))


async def _send_message(client: HubClient, request: SendMessagePayload) -> TaskReceiptView:
    receipt = await client.send_message(ClientMessage(**request.to_dict()))
    return receipt_to_json(receipt, request.mode)


async def _regenerate(client: HubClient, request: RegeneratePayload) -> TaskReceiptView:
    fields = request.to_dict()
    message = ClientMessage(content="", replaces=fields.pop("task_id"), **fields)
    receipt = await client.send_message(await client.authorized_host.complete_regeneration(message))
    return receipt_to_json(receipt, "normal")


async def _join_session(client: HubClient, request: JoinSessionPayload) -> JoinedSession:
    caller = await SESSION.on_its_host(client.authorized_host, request.session_id)
    await caller.check_not_lost(request.session_id)
    joined = await client.join(request.session_id, request.last_seq or 0, is_off_the_record=caller.is_off_the_record)
    events = [event_to_json(event) for event in joined.events]
    found: JoinedSession = {"session_id": request.session_id, "seq": joined.seq, "events": events}
    return {**found, "partial": True} if joined.is_partial else found


async def _leave_session(client: HubClient, request: LeaveSessionPayload) -> LeftSession:
    client.leave(request.session_id)
    return {"session_id": request.session_id}


async def _cancel_task(client: HubClient, request: CancelTaskPayload) -> CancelledTask:
    run = await client.authorized_host.cancel_task(request.task_id)
    return {"task_id": run.id, "status": run.status if run.is_finished else "cancelling"}


async def _decide_approval(client: HubClient, request: DecideApprovalPayload) -> DecidedApproval:
    decision = Decision(request.decision, request.reason or "", request.arguments or {}, grant=request.grant)
    record = await client.authorized_host.decide_approval(request.approval_id, decision, session_id=request.session_id)
    return {
        "approval_id": record.request.id,
        "task_id": turn_id_from_request(record.request),
        "status": STATUS_BY_DECISION[request.decision],
    }


async def _send_feedback(client: HubClient, request: SendFeedbackPayload) -> FeedbackReceipt:
    await client.authorized_host.send_feedback(
        request.task_id, request.value, text=request.text or "", source=request.source
    )
    return {"task_id": request.task_id, "value": request.value}


async def _list_approvals(client: HubClient, _request: ListApprovalsPayload) -> ApprovalSlice:
    records = await client.authorized_host.list_approvals(all_users=client.is_operator)
    items = [await _approval_item(client, record) for record in records[:MAX_LIST_ITEMS]]
    shown, is_all = _take_listed(items, len(records))
    return {"items": shown} if is_all else {"items": shown, "more": True}


async def _approval_item(client: HubClient, record: ApprovalRecord) -> ApprovalView:
    """Return an approval with its large fields cut, as in its event."""
    item = approval_to_json(record)
    try:
        return cast(ApprovalView, await client.authorized_host.cut_large_fields(record.request.session_id, item))
    except (NotFound, Forbidden):  # the session was deleted meanwhile
        return cast(ApprovalView, cut_payload(item, record.request.session_id).data)


async def _list_sessions(client: HubClient, request: ListSessionsPayload) -> SessionSlice:
    async def read(limit: int) -> SessionPage:
        return await client.authorized_host.list_sessions(
            all_users=client.is_operator, search=request.q, limit=limit, cursor=request.cursor
        )

    page = await read(request.limit)
    shown = take_items([session_to_json(session) for session in page.items], MAX_LIST_BYTES)
    if len(shown) < len(page.items):  # the cursor is that of the last session that fits
        page = await read(len(shown))
        shown = [session_to_json(session) for session in page.items]
    return {"items": shown, "more": True, "next_cursor": page.next_cursor} if page.next_cursor else {"items": shown}


async def _list_tasks(client: HubClient, request: ListTasksPayload) -> TaskSlice:
    runs = await client.authorized_host.list_tasks(
        all_users=client.is_operator, limit=request.limit + 1, before=request.before
    )
    items = [task_summary_to_json(run) for run in runs[: request.limit]]
    shown, is_all = _take_listed(items, len(runs))
    return {"items": shown} if is_all else {"items": shown, "more": True}


def _take_listed(items: list[Item], count: int) -> tuple[list[Item], bool]:
    """Return the items that fit into an acknowledgement, and whether these are all; HTTP returns the others."""
    shown = take_items(items, MAX_LIST_BYTES)
    return shown, len(shown) >= count


_HANDLERS: Mapping[str, Callable[[HubClient, Any], Awaitable[AckPayload]]] = {
    "send_message": _send_message,
    "regenerate": _regenerate,
    "join_session": _join_session,
    "leave_session": _leave_session,
    "cancel_task": _cancel_task,
    "decide_approval": _decide_approval,
    "send_feedback": _send_feedback,
    "list_approvals": _list_approvals,
    "list_sessions": _list_sessions,
    "list_tasks": _list_tasks,
}
