"""Looks now and then for runs that wait for nothing: not in the queue though they should be, or decided elsewhere."""

import logging

from sophon.services import Services
from sophon.stores.run_contracts import Run
from sophon_hosting.queue.contract import QueueEntry, TaskQueue
from sophon_hosting.runs.endings import Endings
from sophon_hosting.runs.jobs import Jobs
from sophon_hosting.runs.recovery import is_decided

log = logging.getLogger("sophon")

SWEEP_SECONDS = 5.0


class Sweep:
    """The rows of the store are the truth: a command line that has cancelled or decided there is obeyed here, and an
    entry that a queue has lost is put again.
    """

    def __init__(self, services: Services, queue: TaskQueue, jobs: Jobs, endings: Endings) -> None:
        self._services, self._queue, self._jobs, self._endings = services, queue, jobs, endings

    async def watch(self) -> None:
        """Sweep every `SWEEP_SECONDS`, until cancelled. A sweep that fails is tried again."""
        while True:
            await self._services.clock.sleep(SWEEP_SECONDS)
            try:
                await self.sweep()
            except Exception:
                log.exception("the sweep failed; another comes")

    async def sweep(self) -> None:
        """Once over all unfinished runs. Raises StoreError."""
        for run in await self._services.store.runs.unfinished():
            await self._look_at(run)

    async def _look_at(self, run: Run) -> None:
        job = self._jobs.get(run.id)
        if run.cancel_requested:
            if job is None:
                await self._endings.cancel_at_rest(run)
            else:
                job.cancel()
        elif job is not None or await self._queue.position(run.id) is not None:
            return
        elif run.status == "queued":
            await self._queue.put(QueueEntry(run.id, run.session_id), force=True)
        elif run.status == "suspended" and await is_decided(self._services.store, run):
            await self._queue.put(QueueEntry(run.id, run.session_id, "resume"))
