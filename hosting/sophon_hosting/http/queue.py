"""`/api/queue`: what waits, what was given up, and the switches of an operator."""

from aiohttp import web

from sophon.errors import NotFound
from sophon_hosting.host import Host
from sophon_hosting.http.exchange import answer, desk_of, host_of
from sophon_hosting.views import dead_letter_view, statistics_view


def routes() -> list[web.RouteDef]:
    """All of them; operators only."""
    return [
        web.get("/api/queue", shown),
        web.get("/api/queue/dead", dead),
        web.post("/api/queue/dead/{task_id}/retry", retried),
        web.post("/api/queue/pause", paused),
        web.post("/api/queue/resume", resumed),
        web.post("/api/queue/drain", drained),
    ]


async def shown(request: web.Request) -> web.Response:
    """The queue at this moment."""
    return answer(statistics_view(await _operated(request).queue.statistics()))


async def dead(request: web.Request) -> web.Response:
    """What the queue has given up, the oldest first."""
    return answer({"items": [dead_letter_view(each) for each in await _operated(request).queue.dead()]})


async def retried(request: web.Request) -> web.Response:
    """Let one in again as if it were new."""
    task_id = request.match_info["task_id"]
    if not await _operated(request).queue.retry(task_id):
        raise NotFound("dead letter", task_id)
    return answer({"ok": True, "task_id": task_id})


async def paused(request: web.Request) -> web.Response:
    """Begin no more turns; what is sent goes on being accepted."""
    host = _operated(request)
    await host.pause()
    return answer({"ok": True, **statistics_view(await host.queue.statistics())})


async def resumed(request: web.Request) -> web.Response:
    """Go on."""
    host = _operated(request)
    await host.resume()
    return answer({"ok": True, **statistics_view(await host.queue.statistics())})


async def drained(request: web.Request) -> web.Response:
    """Pause, and answer when nothing runs any more. `drained` is false if somebody resumed in the meantime."""
    host = _operated(request)
    done = await host.drain()
    return answer({"ok": True, "drained": done, **statistics_view(await host.queue.statistics())})


def _operated(request: web.Request) -> Host:
    desk_of(request).must_operate()
    return host_of(request)
