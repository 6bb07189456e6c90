"""Reconciler: periodically compare unfinished runs in the store with the queue and apply what is missing."""

import logging

from sophon.services import Services
from sophon.stores.run_contracts import Run
from sophon_hosting.queue.contract import QueueEntry, TaskQueue
from sophon_hosting.runs.endings import Endings
from sophon_hosting.runs.jobs import Jobs
from sophon_hosting.runs.recovery import is_decided

log = logging.getLogger("sophon")

SWEEP_SECONDS = 5.0
"""Interval between two passes."""


class Sweep:
    """Periodic reconciliation; the store is the source of truth.

    It applies cancellations and decisions that another process (the command line) wrote to the store, and enqueues runs
    that the queue has lost.
    """

    def __init__(self, services: Services, queue: TaskQueue, active_runs: Jobs, terminator: Endings) -> None:
        self._services, self._queue, self._active_runs, self._terminator = services, queue, active_runs, terminator

    async def watch(self) -> None:
        """Reconcile every `SWEEP_SECONDS`, until cancelled. A failed pass is logged and retried."""
        while True:
            await self._services.clock.sleep(SWEEP_SECONDS)
            try:
                await self.sweep()
            except Exception:
                log.exception("reconciling runs failed; the next attempt follows")

    async def sweep(self) -> None:
        """Reconcile all unfinished runs once. Raises StoreError."""
        for run in await self._services.store.runs.unfinished():
            await self._reconcile_run(run)

    async def _reconcile_run(self, run: Run) -> None:
        active_run = self._active_runs.get(run.id)
        if run.cancel_requested:
            if active_run is None:
                await self._terminator.cancel_at_rest(run)
            else:
                active_run.cancel()
        elif active_run is not None or await self._queue.position(run.id) is not None:
            return
        elif run.status == "queued":
            await self._queue.put(QueueEntry(run.id, run.session_id), force=True)
        elif run.status == "suspended" and await is_decided(self._services.store, run):
            await self._queue.put(QueueEntry(run.id, run.session_id, "resume"))
