"""Dead letters of the task queue: tasks that were given up, which an operator may enqueue again."""

from sophon.errors import ChangedMeanwhile, NotFound
from sophon_hosting.background_tasks import complete
from sophon_hosting.host import Host
from sophon_hosting.store.contract import host_store


async def retry_task(host: Host, task_id: str) -> str:
    """Enqueue a dead letter again; return the id of the task that runs.

    A task that was given up has its outcome and keeps it: its message is accepted again, as a new task of the same
    session. One whose outcome is not stored yet goes on itself. Completes even if the caller is cancelled. Raises
    NotFound.
    """
    return await complete(_retry(host, task_id))


async def _retry(host: Host, task_id: str) -> str:
    if all(letter.entry.task_id != task_id for letter in await host.queue.list_dead_letters()):
        raise NotFound("dead letter", task_id)
    try:
        run = await host_store(host.services).runs.get(task_id)
        if not run.is_finished:
            await host.queue.retry_dead_letter(task_id)
            return task_id
        receipt = await host.acceptance.accept_again(run)
    except (NotFound, ChangedMeanwhile):  # deleted by retention or with its session
        await host.queue.remove(task_id)
        raise NotFound("dead letter", task_id) from None
    await host.queue.remove(task_id)
    return receipt.task_id
