"""`POST /v1/chat/completions` and `GET /v1/models`; each completion is one task in a temporary session."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from aiohttp import web

from sophon.errors import SophonError
from sophon.events import Event, StreamChunk, TaskCancelled, TaskCompleted, TaskFailed, event_from_wire
from sophon.stores.sessions.contract import SessionRecord
from sophon.trace_context import HEADER
from sophon_hosting.client_api.client_errors import ErrorPayload, to_error_payload
from sophon_hosting.client_api.client_message import ClientMessage
from sophon_hosting.events.json_encoding import encode_json
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.http.json_io import TRACE, get_authorized_host, get_host, json_response, parse_body
from sophon_hosting.http.openai_api.completion_format import (
    AUTO_MODEL,
    CompletionRequest,
    build_chunk,
    build_completion,
    build_usage_chunk,
    parse_completion_input,
    to_history_messages,
    to_openai_finish_reason,
)
from sophon_hosting.rendering.sent_text import SentText


def openai_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    return [web.get("/v1/models", list_openai_models), web.post("/v1/chat/completions", create_chat_completion)]


async def list_openai_models(request: web.Request) -> web.Response:
    """List `sophon`, which lets routing choose, and every model as `provider/model`."""
    get_authorized_host(request).rights.require("OpenAiApi")
    providers = get_host(request).services.gateway.providers
    names = [
        (AUTO_MODEL, AUTO_MODEL),
        *((f"{each.id}/{model.info.name}", each.id) for each in providers for model in each.models),
    ]
    rows = [{"id": name, "object": "model", "created": 0, "owned_by": owner} for name, owner in names]
    return json_response({"object": "list", "data": rows})


async def create_chat_completion(request: web.Request) -> web.StreamResponse:
    """Run the last message as a turn and return or stream its answer. Cancels the task if the client disconnects.

    A tool call that needs approval waits for it as usual, and appears in the approval lists.
    """
    try:
        get_authorized_host(request).rights.require("OpenAiApi")
        completion = await parse_body(request, CompletionRequest)
        task = _CompletionTask(request, completion)
        async with task:
            return await (_stream_response(request, task) if completion.stream else _whole_response(task))
    except (SophonError, ConnectionResetError) as error:
        return _error_response(
            to_error_payload(ClientDisconnected() if isinstance(error, ConnectionResetError) else error)
        )


DISCONNECT_CHECK_SECONDS = 1.0
"""Interval of the check whether a waiting client is still connected."""


class ClientDisconnected(SophonError):
    """The client disconnected; its response is never read."""

    code = "gone"


class _CompletionTask:
    """Async context manager of one request: creates a session with the history, runs the task, deletes the session."""

    def __init__(self, request: web.Request, completion: CompletionRequest) -> None:
        self._request, self._completion = request, completion
        self._host, self._authorized_host = get_host(request), get_authorized_host(request)
        self._session_id = self._authorized_host.new_session_id()
        self._finished = False
        self.task_id = ""
        self.model = completion.model
        self.counts = completion.includes_usage
        self.created = int(self._host.services.clock.now().timestamp())
        self._received: asyncio.Queue[WireEvent] = asyncio.Queue()

    async def __aenter__(self) -> "_CompletionTask":
        talk = parse_completion_input(self._completion)
        await self._authorized_host.ensure_own_session(self._session_id)
        history = [SessionRecord("message", "v1", message) for message in to_history_messages(talk)]
        if history:
            await self._host.services.store.sessions.append(
                self._session_id, history, owner=self._authorized_host.user.id
            )
        await self._authorized_host.subscribe(self._session_id, self._received.put_nowait)
        try:
            receipt = await self._authorized_host.send_message(
                ClientMessage(
                    content=talk.text,
                    images=talk.images,
                    session_id=self._session_id,
                    stream=self._completion.stream,
                    model=None if self.model == AUTO_MODEL else self.model,
                    instructions=talk.instructions,
                    trace=self._request[TRACE],
                    traceparent=self._request.headers.get(HEADER),
                )
            )
        except BaseException:
            await asyncio.shield(self._clean_up())
            raise
        self.task_id = receipt.task_id
        return self

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.shield(self._clean_up())

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the chunks, then the final event of the task. Raises Gone."""
        while not self._finished:
            received = await self._next_event()
            if received.task_id != self.task_id:
                continue
            event = event_from_wire(received.name, received.whole)
            if isinstance(event, TaskCompleted | TaskFailed | TaskCancelled):
                self._finished = True
                yield event
            elif isinstance(event, StreamChunk):
                yield event

    async def _next_event(self) -> WireEvent:
        """Return the session's next event. Polls the transport: aiohttp does not report a disconnected client."""
        while True:
            try:
                async with asyncio.timeout(DISCONNECT_CHECK_SECONDS):
                    return await self._received.get()
            except TimeoutError:
                transport = self._request.transport
                if transport is None or transport.is_closing():
                    raise ClientDisconnected from None

    async def _clean_up(self) -> None:
        self._authorized_host.unsubscribe(self._session_id, self._received.put_nowait)
        if self.task_id and not self._finished:
            await self._authorized_host.cancel_task(self.task_id)
        try:
            await self._authorized_host.delete_session(self._session_id)
        except SophonError:  # a turn is still being cancelled; the session remains, like any other
            return


async def _whole_response(task: _CompletionTask) -> web.Response:
    async for event in task.events():
        if isinstance(event, TaskCompleted):
            body = build_completion(
                task.task_id, task.model, task.created, event.text, event.finish_reason, event.usage
            )
            return json_response(body)
        if isinstance(event, TaskFailed):
            return _error_response(ErrorPayload(str(event.error["code"]), str(event.error["message"]), 502))
    return _error_response(ErrorPayload("cancelled", "the task was cancelled", 409))


async def _stream_response(request: web.Request, task: _CompletionTask) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    await _write_event(
        response, build_chunk(task.task_id, task.model, task.created, {"role": "assistant", "content": ""})
    )
    sent = SentText()
    async for event in task.events():
        if isinstance(event, StreamChunk):
            if text := sent.add_chunk(event):
                await _write_event(response, build_chunk(task.task_id, task.model, task.created, {"content": text}))
        elif isinstance(event, TaskCompleted):
            if event.text and not sent.epoch_text:
                await _write_event(
                    response, build_chunk(task.task_id, task.model, task.created, {"content": event.text})
                )
            reason = to_openai_finish_reason(event.finish_reason)
            await _write_event(response, build_chunk(task.task_id, task.model, task.created, {}, reason))
            if task.counts:
                await _write_event(response, build_usage_chunk(task.task_id, task.model, task.created, event.usage))
        else:
            cancelled = {"code": "cancelled", "message": "the task was cancelled"}
            error = event.error if isinstance(event, TaskFailed) else cancelled
            await _write_event(response, {"error": dict(error)})
    await response.write(b"data: [DONE]\n\n")
    return response


async def _write_event(response: web.StreamResponse, data: dict[str, Any]) -> None:
    """Write one server-sent event."""
    await response.write(f"data: {encode_json(data)}\n\n".encode())


def _error_response(failure: ErrorPayload) -> web.Response:
    """Return an error response in OpenAI's format."""
    error = {"message": failure.message, "type": failure.code, "param": None, "code": failure.code}
    seconds = failure.extra.get("retry_after_seconds")
    headers = {"Retry-After": str(seconds)} if seconds is not None else None
    return json_response({"error": error}, failure.status, headers)
