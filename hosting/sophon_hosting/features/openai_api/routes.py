"""`POST /v1/chat/completions` and `GET /v1/models`; each completion is one task in a temporary session."""

from datetime import datetime
from typing import Any, TypeGuard

from aiohttp import web

from sophon.errors import SophonError
from sophon.events import ApprovalRequested, Event, StreamChunk, TaskCancelled, TaskCompleted, TaskFailed
from sophon_channels.text.single_line import to_single_line
from sophon_hosting.client_api.client_errors import ErrorPayload, to_error_payload
from sophon_hosting.client_api.http_json import (
    RESPONSE_STARTED,
    get_caller,
    get_host,
    json_response,
    read_json_object,
)
from sophon_hosting.features.openai_api.completion_errors import (
    payload_of_turn,
    to_error_body,
    to_error_headers,
)
from sophon_hosting.features.openai_api.completion_format import (
    AUTO_MODEL,
    CompletionRequest,
    build_chunk,
    build_completion,
    build_usage_chunk,
    to_openai_finish_reason,
)
from sophon_hosting.features.openai_api.completion_task import ClientDisconnected, CompletionTask
from sophon_hosting.json_text import encode_json
from sophon_hosting.rendering.sent_text import SentText

MAX_QUESTION_CHARACTERS = 1000
"""Characters of a question in the line of a stream; the page shows all of it."""


routes = web.RouteTableDef()


@routes.get("/v1/models")
async def list_openai_models(request: web.Request) -> web.Response:
    """List `sophon`, which lets routing choose, and every model as `provider/model`."""
    get_caller(request).rights.require("OpenAiApi")
    providers = get_host(request).services.gateway.providers
    names = [
        (AUTO_MODEL, AUTO_MODEL),
        *((f"{each.id}/{model.info.name}", each.id) for each in providers for model in each.models),
    ]
    rows = [{"id": name, "object": "model", "created": 0, "owned_by": owner} for name, owner in names]
    return json_response({"object": "list", "data": rows})


@routes.post("/v1/chat/completions")
async def create_chat_completion(request: web.Request) -> web.StreamResponse:
    """Run the last message as a turn and return or stream its answer. Cancels the task if the client disconnects.

    A tool call that needs approval waits for it as usual, and appears in the approval lists.
    """
    task: CompletionTask | None = None
    try:
        get_caller(request).rights.require("OpenAiApi")
        completion = CompletionRequest.validate(await read_json_object(request))
        task = CompletionTask(request, completion)
        async with task:
            return await (_stream_response(request, task) if completion.stream else _whole_response(request, task))
    except (SophonError, ConnectionResetError) as error:
        told = ClientDisconnected() if isinstance(error, ConnectionResetError) else error
        return _error_response(to_error_payload(told), has_run=_has_run(task))
    except Exception as error:
        if RESPONSE_STARTED in request:
            raise
        # What nobody has foreseen says too that it is not to be sent again.
        return _error_response(to_error_payload(error), has_run=_has_run(task))


def _has_run(task: CompletionTask | None) -> bool:
    """Return whether the task of a request has been accepted."""
    return task is not None and bool(task.task_id)


async def _whole_response(request: web.Request, task: CompletionTask) -> web.Response:
    async for event in task.events():
        if isinstance(event, TaskFailed | TaskCancelled) or _is_over_budget(event):
            return _error_response(_payload_of(event, get_host(request).services.clock.now()), has_run=True)
        if isinstance(event, TaskCompleted):
            body = build_completion(
                task.task_id, task.model, task.created, event.text, event.finish_reason, event.usage
            )
            return json_response(body)
    raise ClientDisconnected


async def _stream_response(request: web.Request, task: CompletionTask) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    await _write_event(
        response, build_chunk(task.task_id, task.model, task.created, {"role": "assistant", "content": ""})
    )
    sent = SentText()
    async for event in task.events():
        if event is None:
            await response.write(b": waiting\n\n")
        elif isinstance(event, ApprovalRequested):
            notice = build_approval_notice(event, get_host(request).services.settings.public_url)
            await _write_event(response, build_chunk(task.task_id, task.model, task.created, {"content": notice}))
        elif isinstance(event, StreamChunk):
            if text := sent.add_chunk(event):
                await _write_event(response, build_chunk(task.task_id, task.model, task.created, {"content": text}))
        elif isinstance(event, TaskFailed | TaskCancelled) or _is_over_budget(event):
            await _write_event(response, to_error_body(_payload_of(event, get_host(request).services.clock.now())))
        elif isinstance(event, TaskCompleted):
            if event.text and not sent.epoch_text:
                await _write_event(
                    response, build_chunk(task.task_id, task.model, task.created, {"content": event.text})
                )
            reason = to_openai_finish_reason(event.finish_reason)
            await _write_event(response, build_chunk(task.task_id, task.model, task.created, {}, reason))
            if task.counts:
                await _write_event(response, build_usage_chunk(task.task_id, task.model, task.created, event.usage))
    await response.write(b"data: [DONE]\n\n")
    return response


async def _write_event(response: web.StreamResponse, data: dict[str, Any]) -> None:
    """Write one server-sent event."""
    await response.write(f"data: {encode_json(data)}\n\n".encode())


def build_approval_notice(event: ApprovalRequested, public_url: str | None) -> str:
    """Return the line of a stream that says what is waited for and where to decide. It is no part of the answer."""
    where = f"at {public_url}" if public_url else "in the web page"
    if event.kind == "question":
        asked = to_single_line(event.preview, MAX_QUESTION_CHARACTERS)
        return f"\n\n[{asked} · answer {where}, or `sophon approvals answer {event.approval_id} TEXT`]\n\n"
    who = "an operator" if event.needs_operator else "somebody"
    what = f"{event.tool} waits for {who} to approve it" if event.tool else f"the turn waits for {who} to decide"
    return f"\n\n[{what}: {where}, or `sophon approvals approve {event.approval_id}`]\n\n"


def _is_over_budget(event: Event | None) -> TypeGuard[TaskCompleted]:
    """Return whether a budget ended the turn: its text says so, and a client would take it for an answer."""
    return isinstance(event, TaskCompleted) and event.finish_reason == "budget_exceeded"


def _payload_of(event: TaskCompleted | TaskFailed | TaskCancelled, now: datetime) -> ErrorPayload:
    if isinstance(event, TaskCancelled):
        return payload_of_turn("cancelled", "the task was cancelled", now)
    if isinstance(event, TaskCompleted):
        return payload_of_turn("budget_exceeded", event.text, now)
    return payload_of_turn(str(event.error["code"]), str(event.error["message"]), now)


def _error_response(failure: ErrorPayload, *, has_run: bool) -> web.Response:
    """Return an error response in OpenAI's format."""
    return json_response(to_error_body(failure), failure.status, to_error_headers(failure, has_run=has_run))
