"""`/api/tasks`: send a message, look how far it is, stop it."""

from typing import Annotated, Any

from aiohttp import web
from pydantic import Field

from sophon.stores.run_contracts import RunStatus
from sophon_hosting.desk import SendMessage
from sophon_hosting.http.exchange import TRACE, Body, Query, answer, body_of, desk_of, host_of, query_of
from sophon_hosting.views import logged_view, task_view

READ_AT_ONCE = 1000


class Said(Body):
    """A message; `client_message_id` is the sender's own: the same one again is the same task."""

    content: str
    client_message_id: str | None = None
    stream: bool = True
    model: str | None = None
    planning: str | None = None


class Sent(Said):
    """A message, into a new session if it names none."""

    session_id: str | None = None


class Listed(Query):
    """Of one session or status; `everything` is for operators."""

    session_id: str | None = None
    status: RunStatus | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    everything: bool = False


def routes() -> list[web.RouteDef]:
    """All of them."""
    one = "/api/tasks/{task_id}"
    return [
        web.post("/api/tasks", sent),
        web.post("/api/sessions/{session_id}/messages", said),
        web.get("/api/tasks", listed),
        web.get(one, shown),
        web.get(f"{one}/events", events),
        web.post(f"{one}/cancel", cancelled),
    ]


async def sent(request: web.Request) -> web.Response:
    """Accept a message: 202, and once this is answered it is never lost."""
    body = await body_of(request, Sent)
    return await _accepted(request, SendMessage(**body.model_dump(), trace=request[TRACE]))


async def said(request: web.Request) -> web.Response:
    """The same, into the session of the address."""
    body, session_id = await body_of(request, Said), request.match_info["session_id"]
    return await _accepted(request, SendMessage(**body.model_dump(), session_id=session_id, trace=request[TRACE]))


async def listed(request: web.Request) -> web.Response:
    """The newest first."""
    query = query_of(request, Listed)
    found = await desk_of(request).tasks(**query.model_dump())
    return answer({"items": [task_view(each) for each in found]})


async def shown(request: web.Request) -> web.Response:
    """One task, with its answer once there is one, and while it waits the number of tasks before it."""
    run = await desk_of(request).task(_id(request))
    return answer({**task_view(run), "position": await host_of(request).queue.position(run.id)})


async def events(request: web.Request) -> web.Response:
    """What happened in it, in order."""
    desk = desk_of(request)
    run = await desk.task(_id(request))
    found: list[dict[str, Any]] = []
    after = 0
    while rows := await desk.events(run.session_id, after, READ_AT_ONCE):
        found += [logged_view(run.session_id, row) for row in rows if row.task_id == run.id]
        after = rows[-1].seq
    return answer({"items": found})


async def cancelled(request: web.Request) -> web.Response:
    """Stop it; one that is over stays as it is. `status` is `cancelling` while its end takes longer than a second."""
    run = await desk_of(request).cancel(_id(request))
    return answer({"ok": True, "task_id": run.id, "status": run.status if run.over else "cancelling"})


async def _accepted(request: web.Request, message: SendMessage) -> web.Response:
    receipt = await desk_of(request).send(message)
    return answer(
        {"ok": True, "task_id": receipt.task_id, "session_id": receipt.session_id, "position": receipt.position},
        202 if receipt.created else 200,
    )


def _id(request: web.Request) -> str:
    return request.match_info["task_id"]
