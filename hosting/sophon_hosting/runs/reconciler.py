"""Reconciler: periodically compare unfinished runs in the store with the queue and apply what is missing."""

import logging

from sophon.failure_log import log_failure
from sophon.services import Services
from sophon.stores.runs.contract import Run
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.runs.abnormal_termination import RunTerminator
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.queue_entries import build_queue_entry
from sophon_hosting.runs.recovery import has_decision

log = logging.getLogger("sophon")

RECONCILE_INTERVAL_SECONDS = 5.0
"""Interval between two passes."""


class RunReconciler:
    """Periodic reconciliation; the store is the source of truth.

    It applies cancellations and decisions that another process (the command line) wrote to the store, and enqueues runs
    that the queue has lost. It asks only for queued and signalled runs (see `RunStore.list_pending`): runs that wait
    for people cost nothing.
    """

    def __init__(
        self, services: Services, queue: TaskQueue, active_runs: ActiveRuns, terminator: RunTerminator
    ) -> None:
        self._services, self._queue, self._active_runs, self._terminator = services, queue, active_runs, terminator

    async def run_forever(self) -> None:
        """Reconcile every `RECONCILE_INTERVAL_SECONDS`, until cancelled. A failed pass is logged and retried."""
        while True:
            await self._services.clock.sleep(RECONCILE_INTERVAL_SECONDS)
            try:
                await self.reconcile()
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "reconciling runs failed; the next attempt follows")

    async def reconcile(self) -> None:
        """Reconcile the pending runs once. Raises StoreError."""
        runs = self._services.store.runs
        for pending in await runs.list_pending():
            if not pending.is_signalled and (
                pending.id in self._queue or self._active_runs.get(pending.id) is not None
            ):
                continue
            run = await runs.find(pending.id)
            if run is not None and not run.is_finished:
                await self._reconcile_run(run)

    async def _reconcile_run(self, run: Run) -> None:
        active_run = self._active_runs.get(run.id)
        if run.cancel_requested:
            if active_run is None:
                await self._terminator.cancel_inactive(run)
            else:
                active_run.cancel()
        elif active_run is not None or run.id in self._queue:
            return
        elif run.status == "queued":
            await self._queue.put(build_queue_entry(run), force=True)
        elif run.status == "suspended" and await has_decision(self._services.store, run):
            await self._queue.put(build_queue_entry(run, "resume"))
