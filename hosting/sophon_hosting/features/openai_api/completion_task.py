"""Task of a chat completion: begun once per idempotency key, followed to its final event."""

import asyncio
from collections.abc import AsyncGenerator
from hashlib import sha256
from typing import Any, cast

import orjson
from aiohttp import web

from sophon.errors import InputError, SophonError
from sophon.events import (
    ApprovalRequested,
    Event,
    StreamChunk,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    event_from_wire,
)
from sophon.messages import Usage
from sophon.stores.sessions.contract import SessionRecord
from sophon.traces.trace_context import HEADER
from sophon_hosting.background_tasks import complete
from sophon_hosting.client_api.client_message import ClientMessage
from sophon_hosting.client_api.http_json import TRACE, get_caller, get_host
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.openai_api.completion_errors import IdempotencyKeyReused
from sophon_hosting.features.openai_api.completion_format import (
    AUTO_MODEL,
    CompletionRequest,
    parse_completion_input,
    to_history_messages,
)
from sophon_hosting.features.tasks.sending import find_accepted, send
from sophon_hosting.host import TaskReceipt
from sophon_hosting.operations.request import Request
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run

KEY_HEADER = "Idempotency-Key"
MAX_KEY_CHARACTERS = 255
DISCONNECT_CHECK_SECONDS = 1.0
"""Interval of the check whether a waiting client is still connected."""

KEEP_ALIVE_SECONDS = 15.0
"""Silence after which `events` yields None, by the host's clock; proxies often close after 30 to 60 s."""

REQUEST_DIGEST = "request_digest"
"""Key, in `Run.origin`, of the digest of a request with an idempotency key."""


class ClientDisconnected(SophonError):
    """The client disconnected; its response is never read."""

    code = "gone"


class CompletionTask:
    """Async context manager of one request: creates a session with the history, runs the task, deletes the session.

    With an idempotency key, the header `Idempotency-Key` or `client_message_id` in the body, a repeated request gets
    the task of the first one. Then the session stays, because the answer may be asked for again, and a client that
    disconnects does not cancel the task. Raises IdempotencyKeyReused if the body is another one.
    """

    def __init__(self, request: web.Request, completion: CompletionRequest) -> None:
        self._request, self._completion = request, completion
        self._host, self._caller = get_host(request), get_caller(request)
        self._session_id = self._caller.new_session_id()
        self._key = read_idempotency_key(request.headers.get(KEY_HEADER), completion.client_message_id)
        self._digest = digest_request(completion)
        self._finished: Event | None = None
        self._is_repeated = False
        self.task_id = ""
        self.model = completion.model
        self.counts = completion.includes_usage
        self.created = int(self._host.services.clock.now().timestamp())
        self._received: asyncio.Queue[WireEvent] = asyncio.Queue()

    async def __aenter__(self) -> "CompletionTask":
        talk, user_id = parse_completion_input(self._completion), self._caller.user.id
        self._caller.rights.require("Chat")
        message_id = None if self._key is None else self._message_id(self._key)
        if self._key is not None and (accepted := await find_accepted(self._caller, message_id)) is not None:
            await self._follow(accepted, self._key)
            return self
        if self.model != AUTO_MODEL:
            self._caller.rights.require("ChooseModel")
        await self._caller.sessions.find_or_create_own(self._session_id, has_message=True)
        history = [SessionRecord("message", "v1", message) for message in to_history_messages(talk)]
        if history:
            await host_store(self._host.services).sessions.append(self._session_id, history, owner=user_id)
        await self._host.event_bus.subscribe(self._session_id, self._received.put_nowait, user_id)
        try:
            receipt = await send(
                self._caller,
                ClientMessage(
                    content=talk.text,
                    images=talk.images,
                    session_id=self._session_id,
                    client_message_id=message_id,
                    stream=self._completion.stream,
                    model=None if self.model == AUTO_MODEL else self.model,
                    instructions=talk.instructions,
                    trace=self._request[TRACE],
                    traceparent=self._request.headers.get(HEADER),
                    authorship={} if self._key is None else {REQUEST_DIGEST: self._digest},
                ),
            )
            if self._key is not None and not receipt.created:  # the same request, at the same time
                await self._drop_session()
                await self._follow(receipt, self._key)
                return self
        except BaseException:
            await complete(self._drop_session())
            raise
        self.task_id = receipt.task_id
        return self

    async def __aexit__(self, *exc: object) -> None:
        await complete(self._clean_up())

    async def events(self) -> AsyncGenerator[Event | None]:
        """Yield chunks and requests for approval, then the final event; None after silence. Raises ClientDisconnected.

        Of a repeated request's task only the final event, which has the whole text.
        """
        if self._finished is not None:
            yield self._finished
            return
        while self._finished is None:
            received = await self._next_event()
            if received is None:
                yield None
                continue
            if received.task_id != self.task_id:
                continue
            event = event_from_wire(received.name, received.whole)
            if isinstance(event, TaskCompleted | TaskFailed | TaskCancelled):
                self._finished = event
                yield event
            elif isinstance(event, ApprovalRequested) or (isinstance(event, StreamChunk) and not self._is_repeated):
                yield event

    async def _follow(self, accepted: TaskReceipt, key: str) -> None:
        """Wait for the task of an earlier request; or take its outcome, if it has one."""
        runs = host_store(self._host.services).runs
        run = await runs.get(accepted.task_id)
        if run.origin.get(REQUEST_DIGEST) != self._digest:
            raise IdempotencyKeyReused(key)
        self._is_repeated, self.task_id, self._session_id = True, run.id, run.session_id
        self.created = int(run.created_at.timestamp()) if run.created_at else self.created
        await self._host.event_bus.subscribe(self._session_id, self._received.put_nowait, self._caller.user.id)
        self._finished = final_event_of(await runs.get(run.id))  # again: it may have ended before the subscription

    async def _next_event(self) -> WireEvent | None:
        """Return the session's next event. Polls the transport: aiohttp does not report a disconnected client."""
        clock = self._host.services.clock
        began = clock.monotonic()
        while True:
            try:
                async with asyncio.timeout(DISCONNECT_CHECK_SECONDS):
                    return await self._received.get()
            except TimeoutError:
                transport = self._request.transport
                if transport is None or transport.is_closing():
                    raise ClientDisconnected from None
                if clock.monotonic() - began >= KEEP_ALIVE_SECONDS:
                    return None

    async def _clean_up(self) -> None:
        self._host.event_bus.unsubscribe(self._session_id, self._received.put_nowait)
        if self._key is not None:
            return
        if self.task_id and self._finished is None:
            await self._caller.cancel_task(self.task_id)
        await self._drop_session()

    async def _drop_session(self) -> None:
        self._host.event_bus.unsubscribe(self._session_id, self._received.put_nowait)
        try:
            await self._host.delete_session(self._session_id)
        except SophonError:  # a turn is still being cancelled; the session remains, like any other
            return

    @staticmethod
    def _message_id(key: str) -> str:
        return f"completion-{sha256(key.encode()).hexdigest()}"


def read_idempotency_key(header: str | None, client_message_id: str | None) -> str | None:
    """Return the idempotency key of a request; the header comes first.

    Raises InputError for one that is empty, long or no UTF-8.
    """
    key = header if header is not None else client_message_id
    if key is None:
        return None
    if not 1 <= len(key) <= MAX_KEY_CHARACTERS:
        raise InputError(f"{KEY_HEADER} has {len(key)} characters; 1 to {MAX_KEY_CHARACTERS} are allowed")
    if any("\ud800" <= each <= "\udfff" for each in key):  # bytes of the header that the HTTP server could not decode
        raise InputError(f"{KEY_HEADER} is not UTF-8")
    return key


def digest_request(completion: CompletionRequest) -> str:
    """Return the digest of what decides the answer: model and messages, not how it is sent."""
    said = [completion.model, completion.messages]
    return sha256(orjson.dumps(said, default=Request.to_dict, option=orjson.OPT_SORT_KEYS)).hexdigest()


def final_event_of(run: Run) -> TaskCompleted | TaskFailed | TaskCancelled | None:
    """Return the final event of a run by its row; None if it has not ended."""
    response = run.response or {}
    text, counts = str(response.get("text", "")), cast("dict[str, Any]", response.get("usage") or {})
    usage = Usage(**counts)
    if run.status == "completed":
        reason = response.get("finish_reason", "stop")
        return TaskCompleted(text=text, finish_reason=reason, usage=usage, duration_ms=0)
    if run.status == "failed":
        error = run.error
        told = {"code": error.code, "message": error.message} if error else {"code": "internal", "message": "failed"}
        return TaskFailed(error=told, text=text, usage=usage)
    return TaskCancelled(text=text, usage=usage) if run.status == "cancelled" else None
