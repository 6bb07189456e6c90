"""Cancellation of runs, wherever they wait or run."""

from sophon.services import Services
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.runs.abnormal_termination import RunTerminator
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.approvals.approval_service import SignalRun
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run

CANCEL_TIMEOUT_SECONDS = 1.0
"""Maximum duration of a `cancel` call."""

POLL_SECONDS = 0.1
"""Interval between two looks at a run that another process stops."""


class RunCancellation:
    """Cancels runs. The request is stored first, and whoever starts the run, or runs it, obeys it.

    A run that nobody runs gets its outcome here. One that runs in this process is stopped; one that runs in another
    process is stopped by that, which a signal tells, or its reconciler.
    """

    def __init__(
        self,
        services: Services,
        queue: TaskQueue,
        active_runs: ActiveRuns,
        terminator: RunTerminator,
        signal: SignalRun,
    ) -> None:
        self._services, self._queue, self._active_runs = services, queue, active_runs
        self._terminator, self._signal = terminator, signal

    async def cancel(self, task_id: str) -> Run:
        """Do what `Host.cancel` does. Raises NotFound, StoreError."""
        runs, clock = host_store(self._services).runs, self._services.clock
        run = await runs.request_cancel(task_id)
        end = clock.monotonic() + CANCEL_TIMEOUT_SECONDS
        is_signalled = False
        while not run.is_finished:
            active_run = self._active_runs.get(task_id)
            if active_run is not None:
                active_run.cancel()
                try:
                    async with clock.timeout(CANCEL_TIMEOUT_SECONDS):
                        await active_run.released.wait()
                except TimeoutError:
                    return await runs.get(task_id)
            elif run.status == "running" and self._queue.is_shared:
                if not is_signalled:
                    self._signal(run.id, "cancel")
                    is_signalled = True
                if clock.monotonic() >= end:
                    return run
                await clock.sleep(POLL_SECONDS)
            else:
                await self._terminator.cancel_inactive(run)
            run = await runs.get(task_id)
        return run
