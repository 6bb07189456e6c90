"""What a host does at start with the runs that the process before it left without an outcome."""

import logging

from sophon.errors import NotFound
from sophon.events import TaskQueued
from sophon.services import Services
from sophon.stores.contracts import Store
from sophon.stores.run_contracts import Run
from sophon_hosting.events.feed import EventFeed
from sophon_hosting.queue.contract import QueueEntry, TaskQueue
from sophon_hosting.runs.endings import Ended, Endings

log = logging.getLogger("sophon")


class Recovery:
    """Goes through the unfinished runs in the order of their acceptance, before the first is taken.

    Asked to end: it ends. Queued: it is queued again, however full the queue is. Running: it goes on from its
    checkpoint or begins again, or is marked as failed, by `AgentExecution.Recovery`. Suspended: it holds its lane, and
    is resumed if something that it waits for was decided.
    """

    def __init__(self, services: Services, queue: TaskQueue, endings: Endings, feed: EventFeed) -> None:
        self._services, self._queue, self._endings, self._feed = services, queue, endings, feed

    async def recover(self) -> set[str]:
        """The ids of the runs that were cut off in their middle and go on."""
        cut_off: set[str] = set()
        runs = await self._services.store.runs.unfinished()
        for run in runs:
            if await self._take_up(run):
                cut_off.add(run.id)
        if runs:
            log.info("%d unfinished runs were found, %d of them cut off in their middle", len(runs), len(cut_off))
        return cut_off

    async def _take_up(self, run: Run) -> bool:
        await self._feed.recall(run)
        if not self._feed.has_told(run, "task_queued"):
            self._feed.emit(queued(run, 0))
        fails = self._services.settings.agent_execution.recovery == "Fail"
        if run.cancel_requested:
            await self._endings.cancel_at_rest(run)
        elif run.status == "queued":
            await self._queue.put(QueueEntry(run.id, run.session_id), force=True)
        elif run.status == "suspended":
            await self._queue.hold(run.session_id, run.id)
            if await is_decided(self._services.store, run):
                await self._queue.put(QueueEntry(run.id, run.session_id, "resume"))
        elif fails:
            await self._endings.fail_at_rest(run, Ended("interrupted", "the host stopped while this task was running"))
        else:
            await self._queue.put(QueueEntry(run.id, run.session_id, "resume"))
            return True
        return False


async def is_decided(store: Store, run: Run) -> bool:
    """Whether something that a suspended run waits for has its answer, or is gone: then the turn asks again."""
    for approval_id in run.waiting_for:
        try:
            record = await store.approvals.get(approval_id)
        except NotFound:
            return True
        if record.decision is not None:
            return True
    return not run.waiting_for


def queued(run: Run, position: int) -> TaskQueued:
    """The event that says that a run was accepted."""
    return TaskQueued(session_id=run.session_id, task_id=run.id, run_id=run.id, position=position, text=run.text)
