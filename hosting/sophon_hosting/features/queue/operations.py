"""Operations on the queue: statistics, dead letters, pause, resume and drain; for operators only."""

from typing import Annotated, Final

from sophon.errors import IllegalTransition, NotFound
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.queue.dead_letter_retry import retry_task
from sophon_hosting.features.queue.results import (
    DeadLetterList,
    DrainedQueue,
    QueueOverview,
    QueueState,
    RetriedLetter,
    StoredQueue,
    dead_letter_to_json,
    queue_statistics_to_json,
    undelivered_entry_to_json,
)
from sophon_hosting.operations.request import Doc, NoFields, Request
from sophon_hosting.operations.shared_results import Done
from sophon_hosting.operations.table import Table
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.settings.queue import QueueSettings

table = Table("queue")

MAX_UNDELIVERED: Final = 1000
"""Maximum number of undelivered messages in a list."""


class NamedLetter(Request):
    """A dead letter by its id: that of a task, or of a message to a chat."""

    task_id: Annotated[str, Doc("The task or message of a dead letter.")]


@table.operation("GET /api/queue", needs="Operator", errors=(QueueUnavailable,))
async def get_queue(caller: Caller, request: NoFields) -> QueueOverview:
    """Return the statistics of the whole queue, and the number of messages to chats that were not delivered.

    Whichever process works on it, the numbers are of the whole queue; `paused` is of this process.
    """
    return {**await _read_state(caller), "undelivered": await caller.store.outbox.count_dead()}


@table.operation(needs="Operator")
async def get_stored_queue(caller: Caller, request: NoFields) -> StoredQueue:
    """Count the unfinished tasks of a store by their status, where no host runs."""
    runs = await caller.store.runs.list_unfinished()
    return {
        "waiting": sum(run.status == "queued" for run in runs),
        "in_flight": 0,
        "interrupted": sum(run.status == "running" for run in runs),
        "held_lanes": sum(run.status == "suspended" for run in runs),
        "capacity": caller.settings.section(QueueSettings).capacity,
    }


@table.operation("GET /api/queue/dead", needs="Operator", errors=(QueueUnavailable,))
async def list_dead_letters(caller: Caller, request: NoFields) -> DeadLetterList:
    """List the dead letters, oldest first: tasks, then messages to chats that could not be delivered (`kind`)."""
    tasks = [dead_letter_to_json(each) for each in await caller.host.queue.list_dead_letters()]
    entries = await caller.store.outbox.list(status="dead", limit=MAX_UNDELIVERED)
    return {"items": [*tasks, *map(undelivered_entry_to_json, entries)]}


@table.operation("POST /api/queue/dead/{task_id}/retry", needs="Operator", ok=True, errors=(NotFound, QueueUnavailable))
async def retry_dead_letter(caller: Caller, request: NamedLetter) -> RetriedLetter:
    """Enqueue a dead letter again, by its `id`.

    The message of a task that was given up becomes a new task, whose `task_id` is in the response; a message to a chat
    keeps its place.
    """
    letter_id, host = request.task_id, caller.host
    try:
        return {"task_id": await retry_task(host, letter_id)}
    except NotFound:  # a message to a chat
        pass
    try:
        await caller.store.outbox.retry(letter_id)
    except (IllegalTransition, NotFound):
        raise NotFound("dead letter", letter_id) from None
    host.outbox_changes.notify()
    return {"task_id": letter_id}


@table.operation("POST /api/queue/pause", needs="Operator", ok=True, errors=(QueueUnavailable,))
async def pause_queue(caller: Caller, request: NoFields) -> QueueState:
    """Stop starting turns in this process; messages are still accepted, and other processes run them."""
    await caller.host.queue.pause()
    return await _read_state(caller)


@table.operation("POST /api/queue/resume", needs="Operator", ok=True, errors=(QueueUnavailable,))
async def resume_queue(caller: Caller, request: NoFields) -> QueueState:
    """Start turns again in this process after a pause."""
    await caller.host.queue.resume()
    return await _read_state(caller)


@table.operation("POST /api/queue/drain", needs="Operator", ok=True, errors=(QueueUnavailable,))
async def drain_queue(caller: Caller, request: NoFields) -> DrainedQueue:
    """Pause, and respond when no turn of this process runs any more.

    Other processes with the same queue go on. `drained` is false if the queue was resumed in the meantime.
    """
    completed = await caller.host.queue.drain()
    return {**await _read_state(caller), "drained": completed}


@table.operation("POST /api/outbox/wake", needs="Operator", ok=True)
async def wake_outbox(caller: Caller, request: NoFields) -> Done:
    """Send at once what another process, such as a command, has stored in the outbox."""
    caller.host.outbox_changes.notify()
    return {}


async def _read_state(caller: Caller) -> QueueState:
    return queue_statistics_to_json(await caller.host.queue.statistics())
