"""`/api/queue`: statistics, dead letters, and pause, resume and drain; for operators only."""

from aiohttp import web

from sophon.errors import IllegalTransition, NotFound
from sophon_hosting.features.queue.results import (
    DeadLetterList,
    DrainedQueue,
    QueueOverview,
    RetriedLetter,
    dead_letter_to_json,
    queue_statistics_to_json,
    undelivered_entry_to_json,
)
from sophon_hosting.host import Host
from sophon_hosting.http.json_io import get_authorized_host, get_host, json_response

MAX_UNDELIVERED = 1000
"""Maximum number of undelivered messages in a list."""


routes = web.RouteTableDef()


@routes.get("/api/queue")
async def get_queue(request: web.Request) -> web.Response:
    """Return the statistics of the whole queue, whichever process works on it, and the number of messages to chats that
    were not delivered. `paused` is of this process.
    """
    host = _require_operator(request)
    statistics = queue_statistics_to_json(await host.queue.statistics())
    overview: QueueOverview = {**statistics, "undelivered": await host.services.store.outbox.count_dead()}
    return json_response(overview)


@routes.get("/api/queue/dead")
async def list_dead_letters(request: web.Request) -> web.Response:
    """List the dead letters, oldest first: tasks, then messages to chats."""
    host = _require_operator(request)
    tasks = [dead_letter_to_json(each) for each in await host.queue.list_dead_letters()]
    entries = await host.services.store.outbox.list(status="dead", limit=MAX_UNDELIVERED)
    letters: DeadLetterList = {"items": [*tasks, *map(undelivered_entry_to_json, entries)]}
    return json_response(letters)


@routes.post("/api/queue/dead/{task_id}/retry")
async def retry_dead_letter(request: web.Request) -> web.Response:
    """Enqueue a dead letter again: a task as a new one, whose id is in the response, a message to a chat in its old
    place. Raises NotFound.
    """
    letter_id = request.match_info["task_id"]
    host = _require_operator(request)
    try:
        retried: RetriedLetter = {"task_id": await host.dead_letters.retry(letter_id)}
        return json_response({"ok": True, **retried})
    except NotFound:  # a message to a chat
        pass
    try:
        await host.services.store.outbox.retry(letter_id)
    except (IllegalTransition, NotFound):
        raise NotFound("dead letter", letter_id) from None
    host.wake_outbox()
    message: RetriedLetter = {"task_id": letter_id}
    return json_response({"ok": True, **message})


@routes.post("/api/queue/pause")
async def pause_queue(request: web.Request) -> web.Response:
    """Stop starting turns in this process; messages are still accepted, and other processes run them."""
    host = _require_operator(request)
    await host.queue.pause()
    return json_response({"ok": True, **queue_statistics_to_json(await host.queue.statistics())})


@routes.post("/api/queue/resume")
async def resume_queue(request: web.Request) -> web.Response:
    """Start turns again in this process after a pause."""
    host = _require_operator(request)
    await host.queue.resume()
    return json_response({"ok": True, **queue_statistics_to_json(await host.queue.statistics())})


@routes.post("/api/queue/drain")
async def drain_queue(request: web.Request) -> web.Response:
    """Pause, and respond when no turn of this process runs any more. `drained` is false if the queue was resumed in the
    meantime.
    """
    host = _require_operator(request)
    completed = await host.queue.drain()
    drained: DrainedQueue = {**queue_statistics_to_json(await host.queue.statistics()), "drained": completed}
    return json_response({"ok": True, **drained})


def _require_operator(request: web.Request) -> Host:
    """Return the host if the user is an operator. Raises Forbidden."""
    get_authorized_host(request).require_operator()
    return get_host(request)
