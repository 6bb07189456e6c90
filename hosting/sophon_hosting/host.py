"""Host without network interfaces: accept messages, run them, record decisions and cancel, within one process."""

import asyncio
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, Self

from sophon.chain.pipeline import Pipeline
from sophon.chain.pipeline_registry import PipelineRegistry
from sophon.errors import CompositionError, NotFound
from sophon.goals.goal import WORK_SESSION_PREFIX
from sophon.operator_policy import OperatorPolicy
from sophon.principals import STORE_OPERATOR
from sophon.services import Services
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.runs.contract import InboundKey, Run
from sophon.task_types import TaskType
from sophon_hosting.audit_heads import AuditHeadWriter, find_signing_key
from sophon_hosting.chain_factory import build_named_chain, records_turns
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.wire_event import RowBuilder, to_logged_event
from sophon_hosting.memory_vectors import MemoryVectors
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.factory import build_memory_queue
from sophon_hosting.retention import RetentionSweep
from sophon_hosting.runs.abnormal_termination import RunTerminator
from sophon_hosting.runs.acceptance import MessageAcceptance, RunRequest, TaskReceipt
from sophon_hosting.runs.accepted_runs import AcceptedRuns
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.approval_gate import StoreApprovalGate
from sophon_hosting.runs.approvals import ApprovalService
from sophon_hosting.runs.checkpoints import insert_checkpoints
from sophon_hosting.runs.direct_calls import DirectChains
from sophon_hosting.runs.feedback import FeedbackRecorder
from sophon_hosting.runs.held_questions import HeldQuestions
from sophon_hosting.runs.outbound import OutboundBuilder, build_answer_entries, leave_out_goal_steps
from sophon_hosting.runs.outcomes import OutcomeWriter, RunTurnLog
from sophon_hosting.runs.preparation import PrepareRun, prepare_nothing
from sophon_hosting.runs.reconciler import RunReconciler
from sophon_hosting.runs.recovery import RunRecovery
from sophon_hosting.runs.session_deletion import SessionDeletion
from sophon_hosting.runs.traces import ApprovalTaps
from sophon_hosting.runs.unrecorded_usage import UnrecordedUsageFile
from sophon_hosting.shutdown import SHUTDOWN_GRACE_SECONDS
from sophon_hosting.store_monitor import StoreMonitor
from sophon_hosting.telemetry_setup import OutcomeExport, create_telemetry
from sophon_hosting.tool_errors import ToolErrors
from sophon_hosting.worker import Worker

if TYPE_CHECKING:
    from sophon.mcp.supervisor import McpSupervisor
    from sophon_hosting.telemetry.exporter import TelemetryExporter

CANCEL_TIMEOUT_SECONDS = 1.0
"""Maximum duration of a `cancel` call. Source: reference/queues.md."""


class WebhookOperations(Protocol):
    """What operators see and try of a host's webhooks."""

    async def describe(self) -> list[dict[str, Any]]:
        """Return the webhooks as JSON rows."""
        ...

    async def send_test(self, webhook_id: str) -> str:
        """Send a test event to an outgoing webhook; return the id of its entry. Raises NotFound."""
        ...


class Host:
    """Host: runs accepted messages through the chain; replaces the approval gate and the turn log of the services.

    `queue` is a `MemoryQueue` of `Queue.Capacity` by default; with `several_users` one of them may fill
    `Queue.OwnerShare` of it. `approvers` are the operators: they may decide besides the owner of a run, and with
    `several_users` a Critical call of who is no operator needs one of them. `build_outbound` builds the outbound
    entries that are committed with a run's outcome, `build_event_row` those of an event; `prepare` is awaited before
    each start of a run. `chain` may be a registry of chains by task type. The context manager opens the services,
    recovers unfinished runs, runs, and shuts down at exit.
    """

    def __init__(
        self,
        services: Services,
        chain: Pipeline | PipelineRegistry,
        *,
        queue: TaskQueue | None = None,
        approvers: Collection[str] = (),
        several_users: bool = False,
        build_outbound: OutboundBuilder = build_answer_entries,
        prepare: PrepareRun = prepare_nothing,
        build_event_row: RowBuilder = to_logged_event,
    ) -> None:
        self.services = services
        self.pipelines = chain if isinstance(chain, PipelineRegistry) else PipelineRegistry(chain)
        """The chains as they were composed, without the host's own middlewares; see `replace_chain`."""
        self.queue: TaskQueue = queue or build_memory_queue(services, is_shared=several_users)
        active_runs = self._active_runs = ActiveRuns()
        store = services.store
        self.tool_errors = ToolErrors(services.events, services.clock)
        """Last errors of tools, by session."""
        self.event_bus = EventBus(
            store.events,
            services.clock,
            ApprovalTaps(self.tool_errors, active_runs) if services.settings.traces.enabled else self.tool_errors,
            store.sessions,
            store.texts,
            store.runs,
            build_event_row,
        )
        self.event_bus.before_deletion(self.tool_errors.forget_session)
        self._deletion = SessionDeletion(services, self.event_bus, active_runs, self.queue, self.cancel)
        self._accepted_runs = AcceptedRuns(services.clock)
        self._acceptance = MessageAcceptance(
            services, self.queue, self.event_bus, self._deletion.gate, self._accepted_runs
        )
        kept = None if isinstance(store, InMemoryStore) else UnrecordedUsageFile(store, services.folder)
        self._outcome_writer = outcome_writer = OutcomeWriter(
            store, self.event_bus, services.clock, leave_out_goal_steps(build_outbound), kept
        )
        services.set_event_sink(self.event_bus)
        # Whoever can open the store is an operator (`StoreHostClient`).
        policy = services.operator_policy = OperatorPolicy(
            frozenset(approvers) | {STORE_OPERATOR}, several_users, services.settings.approval.four_eyes
        )
        held = HeldQuestions()
        self._gate = StoreApprovalGate(
            services.store, services.clock, active_runs, policy=policy, events=self.event_bus, held=held
        )
        services.approvals, services.turn_log = (
            self._gate,
            RunTurnLog(active_runs, outcome_writer, services.store, self.event_bus),
        )
        self.approvals = ApprovalService(
            services.store,
            self.queue,
            clock=services.clock,
            settings=services.settings.approval,
            tools=services.toolbox,
            policy=services.operator_policy,
            events=self.event_bus,
            held=held,
        )
        self.feedback = FeedbackRecorder(services, self.event_bus)
        self._terminator = RunTerminator(services, self.chain, self.queue, active_runs, outcome_writer)
        self.direct_chains = DirectChains()
        """Chain of direct calls, without the host's own middlewares; it says whether there can be one."""
        self._worker = Worker(
            services,
            self.pipelines.map(self._insert_checkpoints),
            self.queue,
            active_runs,
            self._terminator,
            self.event_bus,
            self._accepted_runs,
            prepare,
        )
        if services.agents is not None:
            self._agent_chains: dict[str, Pipeline] = {}
            services.agents.find_chain = self._find_agent_chain
        self.store_monitor = StoreMonitor(services.store, services.clock)
        self.channel_names: set[str] = {"telegram", "whatsapp", WORK_SESSION_PREFIX}
        """Names of the channels, enabled or not, and that of goals: the ids of their sessions are theirs."""
        self.off_the_record: Host | None = None
        """The `OffTheRecordHost`, started and shut down by who creates it; None: no conversations off the record."""
        self.mcp: McpSupervisor | None = None
        """Supervisor of the MCP servers, started and stopped by who creates it; None: there are none."""
        self.webhooks: WebhookOperations | None = None
        """Webhooks, started and stopped by who creates them; None: there are none."""
        self._outbox_listeners: list[Callable[[], None]] = []
        self.is_shutting_down = False
        """True from the beginning of `shutdown`: new messages would no longer be run by this process."""
        self.is_running = False
        """True between `start` and `shutdown`."""
        self._background_tasks: list[asyncio.Task[None]] = []
        self._telemetry: TelemetryExporter | None = None

    @property
    def chain(self) -> Pipeline:
        """The default chain, without the host's own middlewares."""
        return self.pipelines.default

    def replace_chain(self, chain: Pipeline, task_type: TaskType | None = None) -> None:
        """Run turns that start later through another chain: those of a task type, by default all without their own.

        Turns that run stay with the chain that they have. The chain is used as it is: it has the guards that it was
        composed with (`sophon_middlewares.guards.insertion.add_guards` adds those of the settings). Raises
        CompositionError for what is no chain, and for one that records its turns while the others do not, or the other
        way round.
        """
        if records_turns(chain) != records_turns(self.chain):
            raise CompositionError("a host's chains must all have SessionEvents, or none of them")
        self.pipelines.replace(chain, task_type)
        self._worker.pipelines.replace(self._insert_checkpoints(chain), task_type)

    def _find_agent_chain(self, name: str) -> Pipeline:
        """Return the chain that the definition of an agent names, built once. Raises NotFound."""
        chain = self._agent_chains.get(name)
        if chain is None:
            chain = self._agent_chains[name] = self._insert_checkpoints(build_named_chain(self.services, name))
        return chain

    def _insert_checkpoints(self, chain: Pipeline) -> Pipeline:
        return insert_checkpoints(chain, self._active_runs, self.event_bus)

    @property
    def running_turns(self) -> int:
        """Number of turns that this process runs now."""
        return len(self._active_runs)

    async def accept(self, message: RunRequest) -> TaskReceipt:
        """Store a message as a run and enqueue it; an accepted message is never lost.

        A message whose key was accepted before is never refused: it gets the receipt of its task, also while the queue
        is full. Raises QueueFull and StoreUnavailable before anything is written, InputError for an empty message, an
        unknown planning mode or a `max_iterations` above the hard limit, NotFound for an unknown model, SessionTaken if
        the session is not (or no longer) of `session_owner`. Completes even if the caller is cancelled.
        """
        return await asyncio.shield(asyncio.ensure_future(self._acceptance.accept(message)))

    async def find_accepted(self, key: InboundKey) -> TaskReceipt | None:
        """Return the receipt of the message that was accepted with this key; None if there is none."""
        return await self._acceptance.find_accepted(key)

    async def retry_dead_letter(self, task_id: str) -> str:
        """Enqueue a dead letter of the queue again; return the id of the task that runs.

        A task that was given up has its outcome and keeps it: its message is accepted again, as a new task of the same
        session. One whose outcome is not stored yet goes on itself. Raises NotFound.
        """
        return await asyncio.shield(asyncio.ensure_future(self._retry_dead_letter(task_id)))

    async def _retry_dead_letter(self, task_id: str) -> str:
        if all(letter.entry.task_id != task_id for letter in await self.queue.list_dead_letters()):
            raise NotFound("dead letter", task_id)
        try:
            run = await self.services.store.runs.get(task_id)
        except NotFound:  # deleted by retention
            await self.queue.remove(task_id)
            raise NotFound("dead letter", task_id) from None
        if not run.is_finished:
            await self.queue.retry_dead_letter(task_id)
            return task_id
        receipt = await self._acceptance.accept_again(run)
        await self.queue.remove(task_id)
        return receipt.task_id

    async def cancel(self, task_id: str) -> Run:
        """Cancel a task and return its run, which may still be stopping if that takes longer than
        `CANCEL_TIMEOUT_SECONDS`.

        A run that has an outcome keeps it. Raises NotFound.
        """
        runs = self.services.store.runs
        self._accepted_runs.forget(task_id)
        run = await runs.request_cancel(task_id)
        while not run.is_finished:
            active_run = self._active_runs.get(task_id)
            if active_run is None:
                await self._terminator.cancel_inactive(run)
            else:
                active_run.cancel()
                try:
                    async with self.services.clock.timeout(CANCEL_TIMEOUT_SECONDS):
                        await active_run.released.wait()
                except TimeoutError:
                    return await runs.get(task_id)
            run = await runs.get(task_id)
        return run

    async def delete_session(self, session_id: str) -> None:
        """Cancel the session's tasks, delete the session and end all subscriptions to it. Raises NotFound, Busy.

        Busy: a turn did not stop within a second. The session still exists; retry when the turn has ended. Messages
        for the session wait meanwhile, and are then messages to a new session. Completes even if the caller is
        cancelled.
        """
        await asyncio.shield(asyncio.ensure_future(self._deletion.delete(session_id)))

    async def start(self) -> None:
        """Recover unfinished runs, then start the worker.

        Raises InputError for a signing key that is not there, SettingsError without the extra of `Telemetry.Endpoint`.
        """
        key = find_signing_key(self.services.settings, os.environ)
        self._telemetry = telemetry = create_telemetry(self.services, os.environ)
        if telemetry is not None:
            self._outcome_writer.export_trace = OutcomeExport(telemetry)
        await self.queue.open()
        await self._outcome_writer.record_kept_usage()
        self._worker.interrupted_run_ids |= await RunRecovery(
            self.services, self.queue, self._terminator, self.event_bus
        ).recover()
        store, clock = self.services.store, self.services.clock
        sweep = RunReconciler(self.services, self.queue, self._active_runs, self._terminator)
        self._background_tasks = [
            asyncio.create_task(self.approvals.run_expiry_loop(self._gate)),
            asyncio.create_task(sweep.run_forever()),
            asyncio.create_task(self.store_monitor.run_forever()),
            asyncio.create_task(
                RetentionSweep(store, clock, self.services.settings, self.services.folder).run_forever()
            ),
        ]
        vectors = MemoryVectors(self.services)
        if vectors.are_used:
            self._background_tasks.append(asyncio.create_task(vectors.run_forever()))
        if key is not None:
            head_file = self.services.folder / self.services.settings.guards.audit.head_file
            heads = AuditHeadWriter(store, clock, head_file, key)
            self._background_tasks.append(asyncio.create_task(heads.run_forever()))
        self._worker.start()
        self.is_running = True

    async def shutdown(self, *, grace_seconds: float = SHUTDOWN_GRACE_SECONDS) -> None:
        """Shut down: take no more tasks and wait for running turns; interrupted turns resume at the next start."""
        self.is_shutting_down, self.is_running = True, False
        await self._worker.shutdown(grace_seconds)
        for background_task in self._background_tasks:
            background_task.cancel()
            with suppress(asyncio.CancelledError):
                await background_task
        self._background_tasks = []
        await self.event_bus.aclose()
        await self.queue.close()
        if self._telemetry is not None:
            telemetry, self._telemetry = self._telemetry, None
            await asyncio.to_thread(telemetry.shutdown)

    def on_outbox_change(self, wake: Callable[[], None]) -> None:
        """Register a callback for outbound entries that were put back."""
        self._outbox_listeners.append(wake)

    def wake_outbox(self) -> None:
        """Report that outbound entries were put back."""
        for wake in self._outbox_listeners:
            wake()

    async def pause(self) -> None:
        """Start no more turns; messages are still accepted."""
        await self.queue.pause()

    async def resume(self) -> None:
        """Start turns again after `pause`; aborts a drain."""
        await self.queue.resume()

    async def drain(self) -> bool:
        """Pause and wait until no turn runs. Return False if aborted by `resume`."""
        return await self.queue.drain()

    async def __aenter__(self) -> Self:
        await self.services.open()
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            await self.shutdown()
        finally:
            await self.services.close()


__all__ = ["CANCEL_TIMEOUT_SECONDS", "Host", "RunRequest", "TaskReceipt"]
