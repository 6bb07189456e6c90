"""`/api/tasks`: send a message, read the state and events of its task, cancel it."""

from typing import Annotated, Any

from aiohttp import web
from pydantic import Field

from sophon.stores.run_contracts import RunStatus
from sophon_hosting.desk import SendMessage
from sophon_hosting.http.exchange import TRACE, Body, Query, answer, body_of, desk_of, host_of, query_of
from sophon_hosting.views import logged_view, task_view

READ_AT_ONCE = 1000
"""Events per query to the store."""


class Said(Body):
    """Body of a message to an existing session; a repeated `client_message_id` returns the same task."""

    content: str
    client_message_id: str | None = None
    stream: bool = True
    model: str | None = None
    planning: str | None = None


class Sent(Said):
    """Body of a message; without `session_id`, to a new session."""

    session_id: str | None = None


class Listed(Query):
    """Query of the task list: by session and status; `everything` (all users') is for operators."""

    session_id: str | None = None
    status: RunStatus | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    everything: bool = False


def task_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    item = "/api/tasks/{task_id}"
    return [
        web.post("/api/tasks", sent),
        web.post("/api/sessions/{session_id}/messages", said),
        web.get("/api/tasks", listed),
        web.get(item, shown),
        web.get(f"{item}/events", events),
        web.post(f"{item}/cancel", cancelled),
    ]


async def sent(request: web.Request) -> web.Response:
    """Accept a message with 202; it is stored before the response."""
    body = await body_of(request, Sent)
    return await _accept(request, SendMessage(**body.model_dump(), trace=request[TRACE]))


async def said(request: web.Request) -> web.Response:
    """Accept a message to the session in the path."""
    body, session_id = await body_of(request, Said), request.match_info["session_id"]
    return await _accept(request, SendMessage(**body.model_dump(), session_id=session_id, trace=request[TRACE]))


async def listed(request: web.Request) -> web.Response:
    """List tasks, newest first."""
    query = query_of(request, Listed)
    runs = await desk_of(request).tasks(
        session_id=query.session_id, status=query.status, limit=query.limit, everything=query.everything
    )
    return answer({"items": [task_view(each) for each in runs]})


async def shown(request: web.Request) -> web.Response:
    """Return one task, with its answer if it has one, and its queue position while it is queued."""
    run = await desk_of(request).task(_task_id(request))
    return answer({**task_view(run), "position": await host_of(request).queue.position(run.id)})


async def events(request: web.Request) -> web.Response:
    """Return the durable events of a task, in order."""
    authorized_host = desk_of(request)
    run = await authorized_host.task(_task_id(request))
    items: list[dict[str, Any]] = []
    after = 0
    while rows := await authorized_host.events(run.session_id, after, READ_AT_ONCE):
        items += [logged_view(run.session_id, row) for row in rows if row.task_id == run.id]
        after = rows[-1].seq
    return answer({"items": items})


async def cancelled(request: web.Request) -> web.Response:
    """Cancel a task; a finished one does not change. `status` is `cancelling` if it takes longer than a second."""
    run = await desk_of(request).cancel(_task_id(request))
    return answer({"ok": True, "task_id": run.id, "status": run.status if run.over else "cancelling"})


async def _accept(request: web.Request, message: SendMessage) -> web.Response:
    receipt = await desk_of(request).send(message)
    return answer(
        {"ok": True, "task_id": receipt.task_id, "session_id": receipt.session_id, "position": receipt.position},
        202 if receipt.created else 200,
    )


def _task_id(request: web.Request) -> str:
    return request.match_info["task_id"]
