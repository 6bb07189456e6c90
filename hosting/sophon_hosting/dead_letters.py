"""Dead letters of the task queue: tasks that were given up, which an operator may enqueue again."""

from sophon.errors import ChangedMeanwhile, NotFound
from sophon.stores.runs.contract import RunStore
from sophon_hosting.completion import complete
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.runs.run_acceptance import RunAcceptance


class DeadLetters:
    """Retries the dead letters of a queue."""

    def __init__(self, queue: TaskQueue, runs: RunStore, acceptance: RunAcceptance) -> None:
        self._queue, self._runs, self._acceptance = queue, runs, acceptance

    async def retry(self, task_id: str) -> str:
        """Enqueue a dead letter again; return the id of the task that runs.

        A task that was given up has its outcome and keeps it: its message is accepted again, as a new task of the same
        session. One whose outcome is not stored yet goes on itself. Completes even if the caller is cancelled. Raises
        NotFound.
        """
        return await complete(self._retry(task_id))

    async def _retry(self, task_id: str) -> str:
        if all(letter.entry.task_id != task_id for letter in await self._queue.list_dead_letters()):
            raise NotFound("dead letter", task_id)
        try:
            run = await self._runs.get(task_id)
            if not run.is_finished:
                await self._queue.retry_dead_letter(task_id)
                return task_id
            receipt = await self._acceptance.accept_again(run)
        except (NotFound, ChangedMeanwhile):  # deleted by retention or with its session
            await self._queue.remove(task_id)
            raise NotFound("dead letter", task_id) from None
        await self._queue.remove(task_id)
        return receipt.task_id
