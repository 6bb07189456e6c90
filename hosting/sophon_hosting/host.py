"""Host without network interfaces: accept messages, run them, record decisions and cancel, within one process."""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, Self

from sophon.chain.pipeline import Pipeline
from sophon.chain.pipeline_registry import PipelineRegistry
from sophon.errors import ChangedMeanwhile, CompositionError, NotFound
from sophon.failure_log import log_failure
from sophon.goals.goal import WORK_SESSION_PREFIX, Goal
from sophon.operator_policy import OperatorPolicy
from sophon.principals import STORE_OPERATOR
from sophon.services import Services
from sophon.stores.contract import Store
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.rate_windows.shared_windows import SharedWindows
from sophon.stores.runs.contract import InboundKey, Run
from sophon.task_types import TaskType
from sophon.traces.trace import Trace
from sophon_hosting.audit_heads import AuditHeadWriter, find_signing_key
from sophon_hosting.chain_factory import build_named_chain, records_turns
from sophon_hosting.completion import complete
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.wire_event import RowBuilder, to_logged_event
from sophon_hosting.fanout.contract import HostFanout, NoFanout
from sophon_hosting.key_locks import KeyLocks
from sophon_hosting.leadership.contract import Leadership, LeaderWork
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.memory_vectors import MemoryVectors
from sophon_hosting.message_indexing import MessageIndexing
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.factory import build_memory_queue
from sophon_hosting.queue.health import QueueHealth
from sophon_hosting.retention import RetentionSweep
from sophon_hosting.runs.abnormal_termination import RunTerminator
from sophon_hosting.runs.acceptance import MessageAcceptance, RunRequest, TaskReceipt
from sophon_hosting.runs.accepted_runs import AcceptedRuns
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.approval_gate import StoreApprovalGate
from sophon_hosting.runs.approvals import ApprovalService
from sophon_hosting.runs.cancellation import CANCEL_TIMEOUT_SECONDS, RunCancellation
from sophon_hosting.runs.checkpoints import insert_checkpoints
from sophon_hosting.runs.decision_writer import DecisionWriter
from sophon_hosting.runs.direct_calls import DirectChains
from sophon_hosting.runs.feedback import FeedbackRecorder
from sophon_hosting.runs.held_questions import HeldQuestions
from sophon_hosting.runs.lost_starts import LostStarts
from sophon_hosting.runs.outbound import OutboundBuilder, build_answer_entries, leave_out_goal_steps
from sophon_hosting.runs.outcomes import OutcomeWriter, RunTurnLog
from sophon_hosting.runs.preparation import PrepareRun, prepare_nothing
from sophon_hosting.runs.reconciler import RunReconciler
from sophon_hosting.runs.recovery import RunRecovery
from sophon_hosting.runs.run_signals import RunSignals
from sophon_hosting.runs.session_deletion import SessionDeletion
from sophon_hosting.runs.traces import ApprovalTaps, build_live_trace
from sophon_hosting.runs.unrecorded_usage import UnrecordedUsageFile
from sophon_hosting.session_changes import SessionChanges
from sophon_hosting.shutdown import SHUTDOWN_GRACE_SECONDS
from sophon_hosting.snapshot_copies import SnapshotCopies
from sophon_hosting.store_monitor import StoreMonitor
from sophon_hosting.telemetry_setup import OutcomeExport, create_telemetry
from sophon_hosting.tool_errors import ToolErrors
from sophon_hosting.worker import Worker

if TYPE_CHECKING:
    from sophon.mcp.supervisor import McpSupervisor
    from sophon_hosting.live_settings.live_settings import LiveSettings
    from sophon_hosting.live_settings.provider_setup import ProviderSetup
    from sophon_hosting.observability.log_buffer import LogBuffer
    from sophon_hosting.telemetry.exporter import TelemetryExporter


log = logging.getLogger("sophon")

QUEUE_RETRY_SECONDS = 2.0
"""Delay between two attempts to open a queue whose server could not be reached at the start."""


class WebhookOperations(Protocol):
    """What operators see and try of a host's webhooks."""

    async def describe(self) -> list[dict[str, Any]]:
        """Return the webhooks as JSON rows."""
        ...

    async def send_test(self, webhook_id: str) -> str:
        """Send a test event to an outgoing webhook; return the id of its entry. Raises NotFound."""
        ...


def check_host_store(store: Store) -> None:
    """Raise CompositionError for the default store of a chain in one's own process, which keeps no runs."""
    if isinstance(store, InMemoryStore):
        raise CompositionError(
            "a host needs a store of runs, which the default of Services is not: "
            'pass Services(store=store_from_url("memory://", folder=...)) of sophon.stores.factory'
        )


class Host:
    """Host: runs accepted messages through the chain; replaces the approval gate and the turn log of the services.

    `queue` is a `MemoryQueue` of `Queue.Capacity` by default; with `several_users` one of them may fill
    `Queue.OwnerShare` of it. `approvers` are the operators: they may decide besides the owner of a run, and with
    `several_users` a Critical call of who is no operator needs one of them. `build_outbound` builds the outbound
    entries that are committed with a run's outcome, `build_event_row` those of an event; `prepare` is awaited before
    each start of a run. `fanout` passes messages to other host processes with the same store; by default there are
    none. `membership` says which of several processes this one is; by default it is alone. `chain` may be a registry of
    chains by task type. The context manager opens the services, recovers unfinished runs, runs, and shuts down at exit.
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
        fanout: HostFanout | None = None,
        membership: GroupMembership | None = None,
    ) -> None:
        check_host_store(services.store)
        self.services = services
        self.fanout: HostFanout = fanout or NoFanout()
        """Messages to and from the other host processes; opened and closed with the host."""
        self.pipelines = chain if isinstance(chain, PipelineRegistry) else PipelineRegistry(chain)
        """The chains as they were composed, without the host's own middlewares; see `replace_chain`."""
        self.queue: TaskQueue = queue or build_memory_queue(services, is_shared=several_users)
        health = self.queue_health = QueueHealth(services.clock)
        """Whether the server of the queue can be reached."""
        active_runs = self._active_runs = ActiveRuns()
        self.membership = membership or GroupMembership(services)
        self.membership.count_turns = lambda: self.running_turns
        if self.membership.is_shared:
            services.rate_windows = SharedWindows(services.store.rate_windows)
        store = services.store
        self.tool_errors = ToolErrors(services.events, services.clock)
        """Last errors of tools, by session."""
        self.event_bus = EventBus(
            store.events,
            store.runs,
            services.clock,
            ApprovalTaps(self.tool_errors, active_runs) if services.settings.traces.enabled else self.tool_errors,
            store.sessions,
            build_event_row,
            self.fanout,
            active_runs.find_start,
        )
        self.event_bus.before_deletion(self.tool_errors.forget_session)
        self.signals = RunSignals(self.fanout, self._notice_signal)
        """Tells other processes that the store has something for a run, and receives that from them."""
        self.session_changes = SessionChanges(store.sessions, self.event_bus, self.fanout)
        """Renamed, pinned and archived sessions."""
        self._deletion = SessionDeletion(services, self.event_bus, active_runs, self.queue, self.cancel)
        self._accepted_runs = AcceptedRuns(services.clock)
        self._acceptance = MessageAcceptance(
            services, self.queue, self.event_bus, self._deletion.gate, self._accepted_runs, health
        )
        kept = None if store.in_memory else UnrecordedUsageFile(store, services.folder)
        self._outcome_writer = outcome_writer = OutcomeWriter(
            store, self.event_bus, services.clock, leave_out_goal_steps(build_outbound), kept
        )
        if services.settings.goals.enabled:
            from sophon_hosting.goals.governor import count_use_of_schedules  # lazy: goals are off by default

            outcome_writer.record_use = count_use_of_schedules(services)
        services.set_event_sink(self.event_bus)
        # Whoever can open the store is an operator (`StoreHostClient`).
        policy = services.operator_policy = OperatorPolicy(
            frozenset(approvers) | {STORE_OPERATOR}, several_users, services.settings.approval.four_eyes
        )
        held = HeldQuestions()
        decisions = DecisionWriter(store.approvals, self.event_bus, services.clock)
        self._gate = StoreApprovalGate(
            services.store,
            services.clock,
            active_runs,
            policy=policy,
            events=self.event_bus,
            held=held,
            load_events=(
                self.event_bus.load_run_events if self.queue.is_shared else self.event_bus.wait_until_published
            ),
        )
        services.approvals, services.turn_log = (
            self._gate,
            RunTurnLog(active_runs, outcome_writer, services.store, self.event_bus),
        )
        self.approvals = ApprovalService(
            services.store,
            self.queue,
            decisions,
            clock=services.clock,
            settings=services.settings.approval,
            tools=services.toolbox,
            policy=services.operator_policy,
            held=held,
            health=health,
            signal=self.signals.send,
        )
        self.feedback = FeedbackRecorder(services, self.event_bus)
        self._terminator = RunTerminator(
            services, self.chain, self.queue, active_runs, outcome_writer, self.event_bus, health
        )
        self._cancellation = RunCancellation(services, self.queue, active_runs, self._terminator, self.signals.send)
        self._lost_starts = LostStarts(services.store)
        self._reconciler = RunReconciler(services, self.queue, active_runs, self._terminator, health, held)
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
            health,
            prepare,
        )
        if services.agents is not None:
            self._agent_chains: dict[str, Pipeline] = {}
            services.agents.find_chain = self._find_agent_chain
        self.store_monitor = StoreMonitor(services.store, services.clock)
        self.channel_names: set[str] = {"telegram", "whatsapp", "webhook", "heartbeat", WORK_SESSION_PREFIX}
        """Names of the channels, enabled or not, and the host's own: no user's session id begins with one of them."""
        self.list_detached_channels: Callable[[], list[str]] = list
        """Names of the channels that could not be started several times in a row."""
        self.off_the_record: Host | None = None
        """The `OffTheRecordHost`, started and shut down by who creates it; None: no conversations off the record."""
        self.mcp: McpSupervisor | None = None
        """Supervisor of the MCP servers, started and stopped by who creates it; None: there are none."""
        self.webhooks: WebhookOperations | None = None
        """Webhooks, started and stopped by who creates them; None: there are none."""
        self.live_settings: LiveSettings | None = None
        """Settings that can change while the host runs; None for services that were made without settings files."""
        self.provider_setup: ProviderSetup | None = None
        """Set-up of a provider; None as above."""
        self.log_buffer: LogBuffer | None = None
        """The newest log lines, for operators; None: this host keeps none."""
        self.unattended_starts = KeyLocks[str]()
        """Held from the question whether a limit of a person is left (`Goals.Limits`) until what counts is stored."""
        self.replaying: set[str] = set()
        """Users of whom a turn is replayed now."""
        self._outbox_listeners: list[Callable[[], None]] = []
        self.is_shutting_down = False
        """True from the beginning of `shutdown`: new messages would no longer be run by this process."""
        self.is_running = False
        """True between `start` and `shutdown`."""
        self.has_joined_queue = False
        """Whether the queue was opened since the start; until then this process has begun no task."""
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

    def find_live_trace(self, task_id: str) -> Trace | None:
        """Return the trace up to now of a turn that this process runs; None for any other."""
        active_run = self._active_runs.get(task_id)
        return None if active_run is None else build_live_trace(active_run)

    def list_live_traces(self) -> list[Trace]:
        """Return the traces up to now of the turns that this process runs."""
        found = [build_live_trace(each) for each in self._active_runs]
        return [each for each in found if each is not None]

    def _find_agent_chain(self, name: str) -> Pipeline:
        """Return the chain that the definition of an agent names, built once. Raises NotFound."""
        chain = self._agent_chains.get(name)
        if chain is None:
            chain = self._agent_chains[name] = self._insert_checkpoints(build_named_chain(self.services, name))
        return chain

    def _insert_checkpoints(self, chain: Pipeline) -> Pipeline:
        return insert_checkpoints(chain, self._active_runs, self.event_bus)

    @property
    def leadership(self) -> Leadership:
        """What says whether this process does what only one of its group may do."""
        return self.membership.leadership

    @property
    def running_turns(self) -> int:
        """Number of turns that this process runs now."""
        return len(self._active_runs)

    async def accept(self, message: RunRequest) -> TaskReceipt:
        """Store a message as a run and enqueue it; an accepted message is never lost.

        A message whose key was accepted before is never refused: it gets the receipt of its task, also while the queue
        is full. Raises QueueFull and StoreUnavailable before anything is written, InputError for an empty message, an
        unknown planning mode or a `max_iterations` above the hard limit, NotFound for an unknown model, SessionTaken if
        the session is not (or no longer) of `session_owner`, ChangedMeanwhile for a `precondition` that does not hold.
        Completes even if the caller is cancelled.
        """
        return await complete(self._acceptance.accept(message))

    async def find_accepted(self, key: InboundKey) -> TaskReceipt | None:
        """Return the receipt of the message that was accepted with this key; None if there is none."""
        return await self._acceptance.find_accepted(key)

    async def replace_text(self, task_id: str, text: str, origin: Mapping[str, Any]) -> bool:
        """Replace text and origin of a task whose turn has not begun; return False, changing nothing, otherwise.

        A worker that has read the earlier text begins the turn anew with this one. Raises NotFound, StoreError.
        """
        self._accepted_runs.forget(task_id)
        return await self.services.store.runs.replace_text(task_id, text, origin)

    async def retry_dead_letter(self, task_id: str) -> str:
        """Enqueue a dead letter of the queue again; return the id of the task that runs.

        A task that was given up has its outcome and keeps it: its message is accepted again, as a new task of the same
        session. One whose outcome is not stored yet goes on itself. Raises NotFound.
        """
        return await complete(self._retry_dead_letter(task_id))

    async def _retry_dead_letter(self, task_id: str) -> str:
        if all(letter.entry.task_id != task_id for letter in await self.queue.list_dead_letters()):
            raise NotFound("dead letter", task_id)
        try:
            run = await self.services.store.runs.get(task_id)
            if not run.is_finished:
                await self.queue.retry_dead_letter(task_id)
                return task_id
            receipt = await self._acceptance.accept_again(run)
        except (NotFound, ChangedMeanwhile):  # deleted by retention or with its session
            await self.queue.remove(task_id)
            raise NotFound("dead letter", task_id) from None
        await self.queue.remove(task_id)
        return receipt.task_id

    async def cancel(self, task_id: str) -> Run:
        """Cancel a task and return its run, which may still be stopping if that takes longer than
        `CANCEL_TIMEOUT_SECONDS`, in this process or in another one.

        A run that has an outcome keeps it. Raises NotFound.
        """
        self._accepted_runs.forget(task_id)
        return await self._cancellation.cancel(task_id)

    async def find_position(self, task_id: str) -> int | None:
        """Return how many tasks are ahead of a waiting task; None if it does not wait, or the queue does not say."""
        with suppress(QueueUnavailable), self.queue_health.watch():
            return await self.queue.position(task_id)
        return None

    async def _notice_signal(self, run_id: str) -> None:
        await self._reconciler.notice_signal(run_id)

    async def delete_session(self, session_id: str) -> None:
        """Cancel the session's tasks, delete the session and end all subscriptions to it. Raises NotFound, Busy.

        Busy: a turn did not stop within a second. The session still exists; retry when the turn has ended. Messages
        for the session wait meanwhile, and are then messages to a new session. Completes even if the caller is
        cancelled.
        """
        await complete(self._deletion.delete(session_id))

    async def delete_goal(self, goal: Goal) -> None:
        """Cancel a goal, and delete it with the sessions that it works in. Raises Busy, as `delete_session` does."""
        await complete(self._deletion.delete_goal(goal))

    async def delete_idle_session(self, session_id: str, before: datetime) -> bool:
        """Delete the session if nothing was added to it since a time and nothing is to happen in it.

        Return whether it was deleted. Completes even if the caller is cancelled.
        """
        return await complete(self._deletion.delete_idle(session_id, before))

    async def start(self) -> None:
        """Recover unfinished runs, then start the worker.

        Raises InputError for a signing key that is not there, SettingsError without the extra of `Telemetry.Endpoint`.
        """
        key = find_signing_key(self.services.settings, os.environ)
        self._telemetry = telemetry = create_telemetry(self.services, os.environ)
        if telemetry is not None:
            self._outcome_writer.export_trace = OutcomeExport(telemetry)
        await self.fanout.open()
        self.event_bus.start()
        self.signals.start()
        self.session_changes.start()
        await self._outcome_writer.record_kept_usage()
        self._background_tasks = []
        store, clock = self.services.store, self.services.clock
        if self.queue.is_shared:
            await self._join_queue()
        else:
            await self.queue.open()
            self.has_joined_queue = True
            recovery = RunRecovery(self.services, self.queue, self._terminator, self.event_bus, self._lost_starts)
            await recovery.recover()
        self._background_tasks += [
            asyncio.create_task(self.approvals.run_expiry_loop(self._gate)),
            asyncio.create_task(self._reconciler.run_forever()),
            asyncio.create_task(self.store_monitor.run_forever()),
            self._lead(
                "retention",
                RetentionSweep(store, clock, self.services.settings, self.services.folder, self).run_forever,
            ),
        ]
        if self.membership.is_shared:  # what the leader of retention deletes may be in copies of this machine
            copies = SnapshotCopies(store, clock, self.services.folder)
            self._background_tasks.append(asyncio.create_task(copies.run_forever()))
        indexing = MessageIndexing(store.message_search, clock)
        self._background_tasks.append(self._lead("message_index", indexing.run_forever))
        vectors = MemoryVectors(self.services)
        if vectors.are_used:
            self._background_tasks.append(self._lead("vectors", vectors.run_forever))
        if key is not None:
            head_file = self.services.folder / self.services.settings.guards.audit.head_file
            heads = AuditHeadWriter(store, clock, head_file, key)
            self._background_tasks.append(self._lead("audit_head", heads.run_forever))
        self.membership.start()
        if not self.queue.is_shared:
            self._start_worker()
        self.is_running = True

    def _start_worker(self) -> None:
        if self.membership.runs_turns:
            self._worker.start()

    async def _join_queue(self) -> None:
        """Open a queue of several processes; if its server cannot be reached, keep trying, and start the worker then.

        Messages are accepted meanwhile. Nothing is recovered: what is running may be another process's.
        """
        try:
            await self._open_queue()
        except QueueUnavailable:
            self._background_tasks.append(asyncio.create_task(self._join_queue_later()))
        else:
            self._start_worker()

    async def _join_queue_later(self) -> None:
        while True:
            await self.services.clock.sleep(QUEUE_RETRY_SECONDS)
            try:
                await self._open_queue()
            except QueueUnavailable:
                continue
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "the queue could not be opened; the next attempt follows")
                continue
            self._start_worker()
            return

    async def _open_queue(self) -> None:
        with self.queue_health.watch():
            await self.queue.open()
            await self._reconciler.reconcile()
        self.has_joined_queue = True

    def _lead(self, duty: str, work: LeaderWork) -> asyncio.Task[None]:
        return asyncio.create_task(self.leadership.lead(duty, work))

    def begin_shutdown(self) -> None:
        """Report from now on that this process is not ready, so that no new clients are sent to it."""
        self.is_shutting_down, self.is_running = True, False

    async def shutdown(self, *, grace_seconds: float = SHUTDOWN_GRACE_SECONDS) -> None:
        """Shut down: take no more tasks and wait for running turns; interrupted turns resume at the next start."""
        self.begin_shutdown()
        await self._worker.shutdown(grace_seconds)
        await self._lost_starts.excuse()
        await self.signals.stop()
        await self.session_changes.stop()
        for background_task in self._background_tasks:
            background_task.cancel()
            with suppress(asyncio.CancelledError):
                await background_task
        self._background_tasks = []
        await self.event_bus.aclose()
        await self.queue.close()
        await self.fanout.close()
        await self.membership.stop()
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
        """Start no more turns in this process; messages are still accepted, and other processes run them."""
        await self.queue.pause()

    async def resume(self) -> None:
        """Start turns again after `pause`; aborts a drain."""
        await self.queue.resume()

    async def drain(self) -> bool:
        """Pause and wait until no turn of this process runs. Return False if aborted by `resume`."""
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
