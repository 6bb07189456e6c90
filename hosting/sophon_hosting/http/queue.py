"""`/api/queue`: statistics, dead letters, and pause, resume and drain; for operators only."""

from aiohttp import web

from sophon.errors import NotFound
from sophon_hosting.host import Host
from sophon_hosting.http.exchange import answer, desk_of, host_of
from sophon_hosting.views import dead_letter_view, statistics_view


def queue_routes() -> list[web.RouteDef]:
    """Return the routes of this module; all require an operator."""
    return [
        web.get("/api/queue", shown),
        web.get("/api/queue/dead", dead),
        web.post("/api/queue/dead/{task_id}/retry", retried),
        web.post("/api/queue/pause", paused),
        web.post("/api/queue/resume", resumed),
        web.post("/api/queue/drain", drained),
    ]


async def shown(request: web.Request) -> web.Response:
    """Return the current statistics of the queue."""
    return answer(statistics_view(await _require_operator(request).queue.statistics()))


async def dead(request: web.Request) -> web.Response:
    """List the dead letters, oldest first."""
    return answer({"items": [dead_letter_view(each) for each in await _require_operator(request).queue.dead()]})


async def retried(request: web.Request) -> web.Response:
    """Enqueue a dead letter again, like a new task. Raises NotFound."""
    task_id = request.match_info["task_id"]
    if not await _require_operator(request).queue.retry(task_id):
        raise NotFound("dead letter", task_id)
    return answer({"ok": True, "task_id": task_id})


async def paused(request: web.Request) -> web.Response:
    """Stop starting turns; messages are still accepted."""
    host = _require_operator(request)
    await host.pause()
    return answer({"ok": True, **statistics_view(await host.queue.statistics())})


async def resumed(request: web.Request) -> web.Response:
    """Start turns again after a pause."""
    host = _require_operator(request)
    await host.resume()
    return answer({"ok": True, **statistics_view(await host.queue.statistics())})


async def drained(request: web.Request) -> web.Response:
    """Pause, and respond when no turn runs any more. `drained` is false if the queue was resumed in the meantime."""
    host = _require_operator(request)
    completed = await host.drain()
    return answer({"ok": True, "drained": completed, **statistics_view(await host.queue.statistics())})


def _require_operator(request: web.Request) -> Host:
    """Return the host if the user is an operator. Raises Forbidden."""
    desk_of(request).must_operate()
    return host_of(request)
