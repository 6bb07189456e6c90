"""Services that run what a host has accepted: worker, recovery, reconciliation, the end of runs without a worker."""

from sophon.chain.pipeline import Pipeline
from sophon.chain.placement import place
from sophon.services import Services
from sophon.task_types import TaskType
from sophon.turn.task_type_chains import PipelineRegistry
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.health import QueueHealth
from sophon_hosting.queue.queue_opening import QueueOpening
from sophon_hosting.runs.abnormal_termination import RunTerminator
from sophon_hosting.runs.active_runs import AcceptedRuns, ActiveRuns
from sophon_hosting.runs.approvals.pending_questions import PendingQuestions
from sophon_hosting.runs.checkpoints.checkpoint_store import Checkpoints
from sophon_hosting.runs.outcomes import OutcomeWriter
from sophon_hosting.runs.recovery.lost_starts import LostStarts
from sophon_hosting.runs.recovery.reconciler import RunReconciler
from sophon_hosting.runs.recovery.startup_recovery import RunRecovery
from sophon_hosting.runs.turn_factory import PrepareRun
from sophon_hosting.store.contract import host_store
from sophon_hosting.worker import Worker


class RunExecution:
    """Worker of a host, with what starts it, ends runs without it, and finds runs that the queue has lost.

    `pipelines` are chains without the host's own middlewares. `prepare` is awaited before each start of a run. Without
    `takes_runs` other processes take the runs from the queue.
    """

    def __init__(
        self,
        services: Services,
        pipelines: PipelineRegistry,
        queue: TaskQueue,
        *,
        health: QueueHealth,
        active_runs: ActiveRuns,
        event_bus: EventBus,
        outcome_writer: OutcomeWriter,
        held: PendingQuestions,
        prepare: PrepareRun | None,
        takes_runs: bool,
    ) -> None:
        self._active_runs, self._event_bus = active_runs, event_bus
        self.accepted_runs = AcceptedRuns(services.clock)
        """Runs that this process has accepted and may start without reading them."""
        self.terminator = RunTerminator(
            services, pipelines.default, queue, active_runs, outcome_writer, event_bus, health
        )
        self.reconciler = RunReconciler(services, queue, active_runs, self.terminator, health, held)
        self._worker = Worker(
            services,
            pipelines.map(self._place_checkpoints),
            queue,
            active_runs,
            self.terminator,
            event_bus,
            self.accepted_runs,
            health,
            prepare,
        )
        self._lost_starts = LostStarts(host_store(services))
        recovery = RunRecovery(services, queue, self.terminator, event_bus, self._lost_starts)
        self._opening = QueueOpening(
            queue,
            health,
            services.clock,
            # What runs in a queue of several processes may be another one's: it is not recovered.
            catch_up=self.reconciler.reconcile if queue.is_shared else recovery.recover,
            start_worker=self._worker.start if takes_runs else lambda: None,
        )

    @property
    def has_joined_queue(self) -> bool:
        """Whether the queue was opened; until then this process has begun no run."""
        return self._opening.is_done

    def replace_chain(self, chain: Pipeline, task_type: TaskType | None) -> None:
        """Run turns that start later through another chain: those of a task type, or all without their own."""
        self._worker.pipelines.replace(self._place_checkpoints(chain), task_type)

    async def start(self) -> None:
        """Open the queue, recover or reconcile the unfinished runs, and start the worker. Raises StoreError."""
        await self._opening.open()

    async def shutdown(self, grace_seconds: float) -> None:
        """Take no more runs; running turns have `grace_seconds` to end, interrupted ones resume at the next start."""
        await self._opening.stop()
        await self._worker.shutdown(grace_seconds)
        await self._lost_starts.excuse()

    def _place_checkpoints(self, chain: Pipeline) -> Pipeline:
        return place(chain, [Checkpoints(self._active_runs, self._event_bus)])
