"""`/api/tasks`: send a message, read the state and events of its task, cancel it."""

from typing import Annotated, Any, Literal

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.learning.feedback import MAX_CORRECTION_CHARACTERS
from sophon.stores.events.contract import LoggedEvent, merge_traces
from sophon.stores.runs.contract import RunStatus
from sophon.trace_context import HEADER
from sophon_hosting.client_api.client_message import ClientMessage, Mode
from sophon_hosting.features.agents.results import sub_agent_to_json
from sophon_hosting.features.sessions.history_results import logged_event_to_json
from sophon_hosting.features.tasks.results import (
    CancelledTask,
    FeedbackReceipt,
    FeedbackView,
    StreamedText,
    TaskDetails,
    TaskEvents,
    TaskPage,
    listed_task_to_json,
    receipt_to_json,
    task_to_json,
)
from sophon_hosting.http.json_io import (
    TRACE,
    RequestBody,
    RequestQuery,
    get_authorized_host,
    get_host,
    json_response,
    parse_body,
    parse_query,
)

EVENTS_PER_READ = 1000
"""Events per query to the store."""


class SessionMessageBody(RequestBody):
    """Body of a message to an existing session; a repeated `client_message_id` returns the same task."""

    content: str
    client_message_id: str | None = None
    stream: bool = True
    model: str | None = None
    planning: str | None = None
    max_iterations: int | None = None
    metadata: dict[str, Any] | None = None
    mode: Mode = "normal"
    attachments: list[str] | None = None
    replaces: str | None = None


class RegenerateBody(RequestBody):
    """Body of a regeneration; what is left out is as it was before."""

    client_message_id: str | None = None
    stream: bool = True
    model: str | None = None
    planning: str | None = None


class NewTaskBody(SessionMessageBody):
    """Body of a message; without `session_id`, to a new session."""

    session_id: str | None = None


class FeedbackBody(RequestBody):
    """Body of feedback: `value` is -1 (bad) to 1 (good), `text` a correction; 0 without a text takes it back."""

    value: Annotated[float, ValueRules(ge=-1, le=1)]
    text: Annotated[str, ValueRules(max_length=MAX_CORRECTION_CHARACTERS)] = ""
    source: Literal["api", "page"] = "api"


class TaskListQuery(RequestQuery):
    """Query of the task list: by session and status, those before a task; `everything` is for operators."""

    session_id: str | None = None
    status: RunStatus | None = None
    limit: Annotated[int, ValueRules(ge=1, le=1000)] = 100
    before: str | None = None
    everything: bool = False


class StreamQuery(RequestQuery):
    """Query of a streamed text: its epoch, and the positions between which it is returned, in characters."""

    epoch: Annotated[int, ValueRules(ge=0)]
    start: Annotated[int, ValueRules(ge=0)] = 0
    end: Annotated[int, ValueRules(ge=0)] | None = None


routes = web.RouteTableDef()


@routes.post("/api/tasks")
async def create_task(request: web.Request) -> web.Response:
    """Accept a message with 202; it is stored before the response."""
    body = await parse_body(request, NewTaskBody)
    return await _accept(request, ClientMessage(**body.to_dict(), **_trace_fields(request)))


@routes.post("/api/sessions/{session_id}/messages")
async def create_session_task(request: web.Request) -> web.Response:
    """Accept a message to the session in the path."""
    body, session_id = await parse_body(request, SessionMessageBody), request.match_info["session_id"]
    return await _accept(
        request,
        ClientMessage(
            **body.to_dict(), session_id=session_id, trace=request[TRACE], traceparent=request.headers.get(HEADER)
        ),
    )


@routes.post("/api/sessions/{session_id}/tasks/{task_id}/regenerate")
async def regenerate(request: web.Request) -> web.Response:
    """Answer the message of a task again, in a new branch of the session."""
    body = await parse_body(request, RegenerateBody)
    message = ClientMessage(
        content="",
        session_id=request.match_info["session_id"],
        replaces=_task_id(request),
        **body.to_dict(),
        **_trace_fields(request),
    )
    receipt = await get_authorized_host(request).regenerate(message)
    return json_response({"ok": True, **receipt_to_json(receipt, "normal")}, 202 if receipt.created else 200)


@routes.get("/api/tasks")
async def list_tasks(request: web.Request) -> web.Response:
    """List a page of tasks, newest first; `before` the last one of it, `more` follow."""
    query = parse_query(request, TaskListQuery)
    runs = await get_authorized_host(request).list_tasks(
        session_id=query.session_id,
        status=query.status,
        limit=query.limit + 1,
        before=query.before,
        all_users=query.everything,
    )
    items = [listed_task_to_json(each) for each in runs[: query.limit]]
    page: TaskPage = {"items": items, "more": len(runs) > len(items)}
    return json_response(page)


@routes.get("/api/tasks/{task_id}")
async def get_task(request: web.Request) -> web.Response:
    """Return one task with its answer if it has one, its sub-agents, and its queue position while it is queued."""
    authorized_host = get_authorized_host(request)
    run = await authorized_host.get_task(_task_id(request))
    position = await get_host(request).find_position(run.id)
    children = [sub_agent_to_json(each) for each in await authorized_host.list_sub_agents(run.id)]
    details: TaskDetails = {**task_to_json(run), "position": position, "children": children}
    return json_response(details)


@routes.post("/api/tasks/{task_id}/feedback")
async def send_feedback(request: web.Request) -> web.Response:
    """Record what the user thinks of the answer; a repetition changes nothing."""
    body, task_id = await parse_body(request, FeedbackBody), _task_id(request)
    await get_authorized_host(request).send_feedback(task_id, body.value, text=body.text, source=body.source)
    receipt: FeedbackReceipt = {"task_id": task_id, "value": body.value}
    return json_response({"ok": True, **receipt})


@routes.get("/api/tasks/{task_id}/feedback")
async def get_feedback(request: web.Request) -> web.Response:
    """Return what the user said about the answer; `value` is null if nothing."""
    found = await get_authorized_host(request).find_feedback(_task_id(request))
    value, text = (None, "") if found is None else (found.value, found.text)
    said: FeedbackView = {"task_id": _task_id(request), "value": value, "text": text}
    return json_response(said)


@routes.get("/api/tasks/{task_id}/events")
async def list_task_events(request: web.Request) -> web.Response:
    """Return the stored events of a task and its traces, in order."""
    authorized_host = get_authorized_host(request)
    run = await authorized_host.get_task(_task_id(request))
    found: list[LoggedEvent] = []
    after = 0
    while rows := await authorized_host.list_events(run.session_id, after, EVENTS_PER_READ):
        found += [row for row in rows if row.task_id == run.id]
        after = rows[-1].seq
    found = merge_traces(found, await authorized_host.list_traces(run.session_id, run.id))
    events: TaskEvents = {"items": [logged_event_to_json(run.session_id, row) for row in found]}
    return json_response(events)


@routes.get("/api/tasks/{task_id}/stream")
async def get_streamed_text(request: web.Request) -> web.Response:
    """Return a part of the text that is being streamed; null once the task or that epoch of its reply has ended."""
    query = parse_query(request, StreamQuery)
    text = await get_authorized_host(request).get_streamed_text(_task_id(request), query.epoch, query.end or 0)
    streamed: StreamedText = {"text": None if text is None else text[query.start : query.end]}
    return json_response(streamed)


@routes.post("/api/tasks/{task_id}/cancel")
async def cancel_task(request: web.Request) -> web.Response:
    """Cancel a task; a finished one does not change. `status` is `cancelling` if it takes longer than a second."""
    run = await get_authorized_host(request).cancel_task(_task_id(request))
    cancelled: CancelledTask = {"task_id": run.id, "status": run.status if run.is_finished else "cancelling"}
    return json_response({"ok": True, **cancelled})


async def _accept(request: web.Request, message: ClientMessage) -> web.Response:
    receipt = await get_authorized_host(request).send_message(message)
    return json_response({"ok": True, **receipt_to_json(receipt, message.mode)}, 202 if receipt.created else 200)


def _trace_fields(request: web.Request) -> dict[str, Any]:
    return {"trace": request[TRACE], "traceparent": request.headers.get(HEADER)}


def _task_id(request: web.Request) -> str:
    return request.match_info["task_id"]
