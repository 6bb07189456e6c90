"""What a host does at start with the runs that the process before it left without an outcome."""

import logging

from sophon.errors import NotFound
from sophon.services import Services
from sophon.stores.run_contracts import Run
from sophon_hosting.queue.contract import QueueEntry, TaskQueue
from sophon_hosting.runs.endings import Ended, Endings

log = logging.getLogger("sophon")


class Recovery:
    """Goes through the unfinished runs in the order of their acceptance, before the first is taken.

    Asked to end: it ends. Queued: it is queued again, however full the queue is. Running: it goes on from its
    checkpoint or begins again, or is marked as failed, by `AgentExecution.Recovery`. Suspended: it holds its lane, and
    is resumed if something that it waits for was decided.
    """

    def __init__(self, services: Services, queue: TaskQueue, endings: Endings) -> None:
        self._services, self._queue, self._endings = services, queue, endings

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
        fails = self._services.settings.agent_execution.recovery == "Fail"
        if run.cancel_requested:
            await self._endings.cancel_at_rest(run)
        elif run.status == "queued":
            await self._queue.put(QueueEntry(run.id, run.session_id), force=True)
        elif run.status == "suspended":
            await self._queue.hold(run.session_id, run.id)
            if await self._is_decided(run):
                await self._queue.put(QueueEntry(run.id, run.session_id, "resume"))
        elif fails:
            whole = run
            await self._endings.fail_at_rest(
                whole, Ended("interrupted", "the host stopped while this task was running")
            )
        else:
            await self._queue.put(QueueEntry(run.id, run.session_id, "resume"))
            return True
        return False

    async def _is_decided(self, run: Run) -> bool:
        for approval_id in run.waiting_for:
            try:
                record = await self._services.store.approvals.get(approval_id)
            except NotFound:  # the turn asks again
                return True
            if record.decision is not None:
                return True
        return not run.waiting_for
