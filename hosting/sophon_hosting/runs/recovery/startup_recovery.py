"""Recovery at start: resume, requeue or fail the runs that a previous process left without an outcome."""

import logging

from sophon.services import Services
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.runs.abnormal_termination import RunTerminator, interrupted_error
from sophon_hosting.runs.queue_entries import build_queue_entry, build_task_queued_event, has_decision
from sophon_hosting.runs.recovery.given_up_runs import give_up_run
from sophon_hosting.runs.recovery.lost_starts import LostStarts
from sophon_hosting.settings.queue import QueueSettings
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run

log = logging.getLogger("sophon")


class RunRecovery:
    """Recovers the unfinished runs in order of acceptance, before the worker takes the first one.

    For the only process of a queue: whatever the store has as running was interrupted. Where processes share a queue,
    nothing is recovered at a start; see `RunReconciler`.

    A run with a cancellation request is cancelled. A queued run is enqueued again, beyond the capacity if necessary. A
    running one resumes from its checkpoint or restarts, or fails, depending on `AgentExecution.Recovery`. A
    suspended one holds its lane and resumes if one of its approvals was decided. One whose processes died
    `Queue.MaxDeliveries` times is given up.
    """

    def __init__(
        self,
        services: Services,
        queue: TaskQueue,
        terminator: RunTerminator,
        event_bus: EventBus,
        lost_starts: LostStarts,
    ) -> None:
        self._services, self._queue, self._terminator, self._event_bus = services, queue, terminator, event_bus
        self._lost_starts = lost_starts

    async def recover(self) -> None:
        """Recover all unfinished runs. Raises StoreError."""
        interrupted = 0
        runs = await host_store(self._services).runs.list_unfinished()
        lost = await self._lost_starts.count([run for run in runs if run.status == "running"])
        for run in runs:
            interrupted += await self._recover_run(run, lost.get(run.id, 0))
        if runs:
            log.info("recovered %d unfinished runs, %d of them interrupted", len(runs), interrupted)

    async def _recover_run(self, run: Run, lost: int) -> bool:
        """Recover a run; return whether it was interrupted and resumes."""
        await self._event_bus.load_run_events(run)
        if not self._event_bus.has_emitted(run, "task_queued"):
            position = await self._queue.estimate_position(build_queue_entry(run)) if run.status == "queued" else 0
            self._event_bus.emit(build_task_queued_event(run, position))
        fails = self._services.settings.agent_execution.recovery == "Fail"
        if run.cancel_requested:
            await self._terminator.cancel_inactive(run)
        elif run.status == "queued":
            await self._queue.put(build_queue_entry(run), force=True)
        elif run.status == "suspended":
            await self._queue.hold_lane(run.session_id, run.id)
            if await has_decision(host_store(self._services), run):
                await self._queue.put(build_queue_entry(run, "resume"))
        elif fails:
            await self._terminator.fail_inactive(run, interrupted_error())
        else:
            await self._queue.put(build_queue_entry(run, "resume", delivered_before=lost))
            if lost < self._services.settings.section(QueueSettings).max_deliveries:
                return True
            log.warning("run %s has ended its process %d times; it is given up", run.id, lost)
            await give_up_run(host_store(self._services).runs, self._terminator, run.id, lost)
        return False
