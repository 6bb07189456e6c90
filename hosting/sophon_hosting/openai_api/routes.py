"""`POST /v1/chat/completions` and `GET /v1/models`: each request is a task of a session of its own, gone after it."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from aiohttp import web

from sophon.errors import SophonError
from sophon.events import Event, StreamChunk, TaskCancelled, TaskCompleted, TaskFailed, from_wire
from sophon.stores.contracts import SessionRecord
from sophon_hosting.desk import SendMessage
from sophon_hosting.events.frame import Frame, encoded
from sophon_hosting.failures import Failure, failure_of
from sophon_hosting.http.exchange import TRACE, answer, body_of, desk_of, host_of
from sophon_hosting.openai_api.completion import (
    AUTO,
    Completion,
    finish_of,
    history_of,
    last_piece,
    piece,
    talk_of,
    whole,
)


def routes() -> list[web.RouteDef]:
    """Both of them."""
    return [web.get("/v1/models", models), web.post("/v1/chat/completions", completed)]


async def models(request: web.Request) -> web.Response:
    """`sophon`, which lets routing choose, and every model by its name."""
    providers = host_of(request).services.gateway.providers
    names = [(AUTO, AUTO), *((f"{each.id}/{model.info.name}", each.id) for each in providers for model in each.models)]
    rows = [{"id": name, "object": "model", "created": 0, "owned_by": owner} for name, owner in names]
    return answer({"object": "list", "data": rows})


async def completed(request: web.Request) -> web.StreamResponse:
    """Send the last message, and answer as it comes. Who goes away stops the task.

    A call that needs approval waits for it as always: whoever may decide sees it in their lists.
    """
    try:
        completion = await body_of(request, Completion)
        run = _Run(request, completion)
        async with run:
            return await (_streamed(request, run) if completion.stream else _in_one_piece(run))
    except (SophonError, ConnectionResetError) as error:
        return _refused(failure_of(Gone() if isinstance(error, ConnectionResetError) else error))


LOOK_SECONDS = 1.0
"""So often it is looked whether a client that waits is still there."""


class Gone(SophonError):
    """The client has gone away; nobody reads this."""

    code = "gone"


class _Run:
    """One request on its way: a session with what was said before, and the frames of its task."""

    def __init__(self, request: web.Request, completion: Completion) -> None:
        self._request, self._completion = request, completion
        self._host, self._desk = host_of(request), desk_of(request)
        self._session = self._desk.new_id()
        self._over = False
        self.task_id = ""
        self.model = completion.model
        self.counts = completion.counts
        self.created = int(self._host.services.clock.now().timestamp())
        self.frames: asyncio.Queue[Frame] = asyncio.Queue()

    async def __aenter__(self) -> "_Run":
        talk = talk_of(self._completion)
        await self._desk.own(self._session)
        before = [SessionRecord("message", "v1", message) for message in history_of(talk)]
        if before:
            await self._host.services.store.sessions.append(self._session, before, owner=self._desk.user.id)
        await self._desk.listen(self._session, self.frames.put_nowait)
        try:
            receipt = await self._desk.send(
                SendMessage(
                    content=talk.text,
                    session_id=self._session,
                    stream=self._completion.stream,
                    model=None if self.model == AUTO else self.model,
                    instructions=talk.instructions,
                    trace=self._request[TRACE],
                )
            )
        except BaseException:
            await asyncio.shield(self._forget())
            raise
        self.task_id = receipt.task_id
        return self

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.shield(self._forget())

    async def events(self) -> AsyncGenerator[Event]:
        """Chunks and the end, which is the last. Raises Gone."""
        while not self._over:
            frame = await self._next()
            if frame.task_id != self.task_id:
                continue
            event = from_wire(frame.name, frame.data)
            if isinstance(event, TaskCompleted | TaskFailed | TaskCancelled):
                self._over = True
                yield event
            elif isinstance(event, StreamChunk):
                yield event

    async def _next(self) -> Frame:
        """aiohttp says nothing when a client goes away, so it is looked at now and then."""
        while True:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    return await self.frames.get()
            except TimeoutError:
                transport = self._request.transport
                if transport is None or transport.is_closing():
                    raise Gone from None

    async def _forget(self) -> None:
        self._desk.leave(self._session, self.frames.put_nowait)
        if self.task_id and not self._over:
            await self._desk.cancel(self.task_id)
        try:
            await self._desk.delete(self._session)
        except SophonError:  # it is still being stopped; it stays as any other session
            return


async def _in_one_piece(run: _Run) -> web.Response:
    async for event in run.events():
        if isinstance(event, TaskCompleted):
            found = whole(run.task_id, run.model, run.created, event.text, event.finish_reason, event.usage)
            return answer(found)
        if isinstance(event, TaskFailed):
            return _refused(Failure(str(event.error["code"]), str(event.error["message"]), 502))
    return _refused(Failure("cancelled", "the task was stopped", 409))


async def _streamed(request: web.Request, run: _Run) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    await _write(response, piece(run.task_id, run.model, run.created, {"role": "assistant", "content": ""}))
    heard = False
    async for event in run.events():
        if isinstance(event, StreamChunk):
            heard = True
            await _write(response, piece(run.task_id, run.model, run.created, {"content": event.text}))
        elif isinstance(event, TaskCompleted):
            if event.text and not heard:
                await _write(response, piece(run.task_id, run.model, run.created, {"content": event.text}))
            end = finish_of(event.finish_reason)
            await _write(response, piece(run.task_id, run.model, run.created, {}, end))
            if run.counts:
                await _write(response, last_piece(run.task_id, run.model, run.created, event.usage))
        else:
            error = event.error if isinstance(event, TaskFailed) else {"code": "cancelled", "message": "it was stopped"}
            await _write(response, {"error": dict(error)})
    await response.write(b"data: [DONE]\n\n")
    return response


async def _write(response: web.StreamResponse, data: dict[str, Any]) -> None:
    await response.write(f"data: {encoded(data)}\n\n".encode())


def _refused(failure: Failure) -> web.Response:
    """An error as these clients read it."""
    error = {"message": failure.message, "type": failure.code, "param": None, "code": failure.code}
    headers = {"Retry-After": str(failure.extra["retry_after_seconds"])} if failure.status == 429 else None
    return answer({"error": error}, failure.status, headers)
