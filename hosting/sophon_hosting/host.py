"""Host without network interfaces: accept messages, run them, record decisions and cancel."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final, Self

from sophon.chain.pipeline import Pipeline
from sophon.clock import Clock
from sophon.errors import CompositionError
from sophon.events import ApprovalRequested, ApprovalResolved, ToolCallCompleted
from sophon.operator_policy import OperatorPolicy
from sophon.principals import STORE_OPERATOR
from sophon.services import Services
from sophon.stores.rate_windows.shared_windows import SharedWindows
from sophon.task_types import TaskType
from sophon.turn.task_type_chains import PipelineRegistry
from sophon_hosting.agent_chains import AgentChains
from sophon_hosting.background_loops import BackgroundLoop, BackgroundLoops, CreateLoops
from sophon_hosting.background_tasks import complete
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.last_tool_errors import ToolErrors
from sophon_hosting.events.session_changes import SessionChanges
from sophon_hosting.events.wire_event import RowBuilder, to_logged_event
from sophon_hosting.fanout.contract import HostFanout, NoFanout
from sophon_hosting.feature_services import FeatureServices
from sophon_hosting.host_chain import records_turns
from sophon_hosting.key_locks import KeyLocks
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.health import QueueHealth
from sophon_hosting.queue.queue_factory import build_memory_queue
from sophon_hosting.retention import RetentionSweep
from sophon_hosting.run_execution import RunExecution
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.answer_entries import OutboundBuilder, build_answer_entries
from sophon_hosting.runs.approvals.approval_gate import StoreApprovalGate
from sophon_hosting.runs.approvals.approval_service import ApprovalService
from sophon_hosting.runs.approvals.decision_writer import DecisionWriter
from sophon_hosting.runs.approvals.pending_questions import PendingQuestions
from sophon_hosting.runs.cancellation import CANCEL_TIMEOUT_SECONDS, RunCancellation
from sophon_hosting.runs.direct_calls import DirectChains
from sophon_hosting.runs.feedback import FeedbackRecorder
from sophon_hosting.runs.outcomes import OutcomeWriter, RecordUse, RunTurnLog
from sophon_hosting.runs.run_acceptance import RunAcceptance, RunRequest, TaskReceipt
from sophon_hosting.runs.run_signals import RunSignals
from sophon_hosting.runs.session_deletion import CreateSessionWork, SessionDeletion
from sophon_hosting.runs.traces import record_approval
from sophon_hosting.runs.turn_factory import PrepareRun
from sophon_hosting.runs.unrecorded_usage import UnrecordedUsageFile
from sophon_hosting.shutdown import SHUTDOWN_GRACE_SECONDS
from sophon_hosting.store.contract import HostStore, host_store
from sophon_hosting.store.factory import extend_store
from sophon_hosting.store.outbox.changes import OutboxChanges
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store_monitor import StoreMonitor
from sophon_hosting.telemetry.setup import TraceExport

CHANNEL_NAMES: Final = frozenset({"telegram", "whatsapp"})
"""Channels that there may be in other hosts of the same store."""


class Host:
    """Host: runs accepted messages through the chain.

    Its turns use `Host.services`: those that were passed, with gate, events and turn log of the host.

    `queue` is a `MemoryQueue` of `Queue.Capacity` by default; with `several_users` one of them may fill
    `Queue.OwnerShare` of it. `approvers` are the operators: they may decide besides the owner of a run, and with
    `several_users` a Critical call of who is no operator needs one of them. `build_outbound` builds the outbound
    entries that are committed with a run's outcome, `build_event_row` those of an event; `prepare` is awaited before
    each start of a run. `fanout` passes messages to other host processes with the same store; by default there are
    none. `membership` says which of several processes this one is; by default it is alone. `record_use` receives what
    each run has used; `session_work` ends with the session to which it belongs, `loops` with the host; the ids of the
    features' own sessions begin with `session_prefixes`. `chain` may be a registry
    of chains by task type, or a function that builds it from `Host.services`. `off_the_record` is the host of
    conversations that are kept in memory only, started and shut down by who creates it; by default there are none. The
    context manager opens the services, recovers unfinished runs, runs, and shuts down at exit.
    """

    is_off_the_record = False
    """Whether its conversations are in memory only."""
    is_running = False
    """True between `start` and `shutdown`."""
    is_shutting_down = False
    """True from the beginning of `shutdown`: new messages would no longer be run by this process."""

    def __init__(
        self,
        services: Services,
        chain: Pipeline | PipelineRegistry | Callable[[Services], PipelineRegistry],
        *,
        queue: TaskQueue | None = None,
        approvers: Collection[str] = (),
        several_users: bool = False,
        build_outbound: OutboundBuilder = build_answer_entries,
        prepare: PrepareRun | None = None,
        build_event_row: RowBuilder = to_logged_event,
        fanout: HostFanout | None = None,
        membership: GroupMembership | None = None,
        record_use: RecordUse | None = None,
        off_the_record: "Host | None" = None,
        session_work: Iterable[CreateSessionWork] = (),
        session_prefixes: Collection[str] = (),
        loops: Iterable[CreateLoops] = (),
        channel_names: Iterable[str] = (),
        list_detached_channels: Callable[[], list[str]] = list,
        outbox_changes: OutboxChanges | None = None,
    ) -> None:
        # What the services get of the host: it is made of the store and the clock.
        store, clock = extend_store(services.store), services.clock
        services = services.with_parts(store=store)
        self.fanout: HostFanout = fanout or NoFanout()
        """Messages to and from the other host processes; opened and closed with the host."""
        self.membership = membership or GroupMembership(services)
        """Which of several processes this one is, and what only it may do."""
        self.queue: TaskQueue = queue or build_memory_queue(services, is_shared=several_users)
        self.queue_health = QueueHealth(clock)
        """Whether the server of the queue can be reached."""
        self.active_runs = ActiveRuns()
        """The runs whose turns this process runs now."""
        self.tool_errors = ToolErrors(clock)
        """Last errors of tools, by session."""
        self.event_bus = self._create_event_bus(store, services, build_event_row)
        self._trace_export = TraceExport(services)
        self._outcome_writer = self._create_outcome_writer(store, services, build_outbound, record_use)
        operators = frozenset(approvers) | {STORE_OPERATOR}  # whoever can open the store, with `StoredCaller`
        policy = OperatorPolicy(operators, several_users, services.settings.approval.four_eyes)
        held = PendingQuestions()
        self._gate = self._create_gate(store, clock, held, policy)

        # Everything else is made of the complete services.
        services = self.services = self._complete_services(store, services, policy)
        """What the turns of this host use; the services that were passed know nothing of the host."""
        self.pipelines = _build_pipelines(chain, services)
        """The chains as they were composed, without the host's own middlewares; see `replace_chain`."""
        self.execution = self._create_execution(held, prepare)
        """The worker, and what surrounds it."""
        self.signals = RunSignals(self.fanout, self.execution.reconciler.notice_signal)
        """Tells other processes that the store has something for a run, and receives that from them."""
        self.approvals = self._create_approval_service(held)
        self._cancellation = self._create_cancellation()
        work = [create(services, self.event_bus) for create in session_work]
        self._deletion = SessionDeletion(services, self.event_bus, self.active_runs, self.queue, self.cancel, work)
        self.acceptance = self._create_acceptance()
        """Stores messages as runs; see `accept`."""
        self.feedback = FeedbackRecorder(services, self.event_bus)
        self.session_changes = SessionChanges(store.sessions, self.event_bus, self.fanout)
        """Renamed, pinned and archived sessions."""
        self.store_monitor = StoreMonitor(store, clock)
        self._loops, self._create_loops = BackgroundLoops(self.membership), tuple(loops)

        # What clients, channels and features find here.
        self.off_the_record = off_the_record
        """The `OffTheRecordHost`; None: no conversations off the record."""
        self.feature_services = FeatureServices()
        """Services of the features that are created for this host."""
        self.channel_names: AbstractSet[str] = CHANNEL_NAMES | {*channel_names, *session_prefixes}
        """Names of the channels, enabled or not, and prefixes of features: no user's session id begins with one."""
        self.list_detached_channels = list_detached_channels
        """Names of the channels that could not be started several times in a row."""
        self.outbox_changes = outbox_changes or OutboxChanges()
        """Wakes what sends outbound entries, for those that were put back."""
        self.direct_chains = DirectChains()
        """Chain of direct calls, without the host's own middlewares; it says whether there can be one."""
        self.unattended_starts = KeyLocks[str]()
        """Held from the question whether a limit of a person is left (`Goals.Limits`) until what counts is stored."""
        self.replaying: set[str] = set()
        """Users of whom a turn is replayed now."""

    def _create_event_bus(self, store: HostStore, services: Services, build_row: RowBuilder) -> EventBus:
        record = [partial(record_approval, self.active_runs)] if services.settings.traces.enabled else []
        return EventBus(
            store.events,
            store.runs,
            services.clock,
            services.events,
            store.sessions,
            build_row,
            self.fanout,
            self.active_runs.find_start,
            before_deletion=[self.tool_errors.forget_session],
            taps={ToolCallCompleted: [self.tool_errors.note], ApprovalRequested: record, ApprovalResolved: record},
        )

    def _create_gate(
        self, store: HostStore, clock: Clock, held: PendingQuestions, policy: OperatorPolicy
    ) -> StoreApprovalGate:
        bus = self.event_bus
        load_events = bus.load_run_events if self.queue.is_shared else bus.wait_until_published
        return StoreApprovalGate(
            store, clock, self.active_runs, policy=policy, events=bus, held=held, load_events=load_events
        )

    def _complete_services(self, store: HostStore, services: Services, policy: OperatorPolicy) -> Services:
        """Return the services with gate, events, turn log and operators of the host, and the chains of agents."""
        security = services.security
        windows = SharedWindows(store.rate_windows) if self.membership.is_shared else security.rate_windows
        complete = services.with_parts(
            approvals=self._gate,
            events=self.event_bus,
            turn_log=RunTurnLog(self.active_runs, self._outcome_writer, store, self.event_bus),
            security=replace(security, operator_policy=policy, rate_windows=windows),
        )
        if (agents := complete.assistant.agents) is None:
            return complete
        chains = AgentChains(complete, self.active_runs, self.event_bus)
        return complete.with_parts(assistant=replace(complete.assistant, agents=agents.with_chains(chains.find)))

    def _create_outcome_writer(
        self, store: HostStore, services: Services, build_outbound: OutboundBuilder, record_use: RecordUse | None
    ) -> OutcomeWriter:
        kept = None if store.in_memory else UnrecordedUsageFile(store, services.folder)
        export = self._trace_export.export if self._trace_export.is_enabled else None
        return OutcomeWriter(store, self.event_bus, services.clock, build_outbound, kept, record_use, export)

    def _create_execution(self, held: PendingQuestions, prepare: PrepareRun | None) -> RunExecution:
        return RunExecution(
            self.services,
            self.pipelines,
            self.queue,
            health=self.queue_health,
            active_runs=self.active_runs,
            event_bus=self.event_bus,
            outcome_writer=self._outcome_writer,
            held=held,
            prepare=prepare,
            takes_runs=self.membership.runs_turns,
        )

    def _create_cancellation(self) -> RunCancellation:
        terminator = self.execution.terminator
        return RunCancellation(self.services, self.queue, self.active_runs, terminator, self.signals.send)

    def _create_acceptance(self) -> RunAcceptance:
        accepted_runs, gate = self.execution.accepted_runs, self._deletion.gate
        return RunAcceptance(self.services, self.queue, self.event_bus, gate, accepted_runs, self.queue_health)

    def _create_approval_service(self, held: PendingQuestions) -> ApprovalService:
        services, store = self.services, host_store(self.services)
        return ApprovalService(
            store,
            self.queue,
            DecisionWriter(store.approvals, self.event_bus, services.clock),
            clock=services.clock,
            settings=services.settings.approval,
            tools=services.toolbox,
            policy=services.security.operator_policy,
            held=held,
            health=self.queue_health,
            signal=self.signals.send,
        )

    @property
    def chain(self) -> Pipeline:
        """The default chain, without the host's own middlewares."""
        return self.pipelines.default

    def replace_chain(self, chain: Pipeline, task_type: TaskType | None = None) -> None:
        """Run turns that start later through another chain: those of a task type, by default all without their own.

        Turns that run stay with the chain that they have. The chain is used as it is: it has the guards that it was
        composed with (`sophon_middlewares.chains.additions.find_guards` gives those of the settings). Raises
        CompositionError for what is no chain, and for one that records its turns while the others do not, or the other
        way round.
        """
        if records_turns(chain) != records_turns(self.chain):
            raise CompositionError("a host's chains must all have SessionEvents, or none of them")
        self.pipelines.replace(chain, task_type)
        self.execution.replace_chain(chain, task_type)

    @property
    def running_turns(self) -> int:
        """Number of turns that this process runs now."""
        return len(self.active_runs)

    async def check_message(self, owner: str, session_ids: Sequence[str]) -> None:
        """Raise TryLater if a message of the owner finds no room: to a new session, or to one of these ids.

        Here the queue alone limits messages, when they are accepted.
        """

    def new_session_id(self) -> str:
        """Return an id for a new session."""
        return self.services.clock.new_id()

    async def accept(self, message: RunRequest) -> TaskReceipt:
        """Store a message as a run and enqueue it; an accepted message is never lost.

        A message whose key was accepted before is never refused: it gets the receipt of its task, also while the queue
        is full. Raises QueueFull and StoreUnavailable before anything is written, InputError for an empty message, an
        unknown planning mode or a `max_iterations` above the hard limit, NotFound for an unknown model, SessionTaken if
        the session is not (or no longer) of `session_owner`, ChangedMeanwhile for a `precondition` that does not hold.
        Completes even if the caller is cancelled.
        """
        return await complete(self.acceptance.accept(message))

    async def replace_text(self, task_id: str, text: str, origin: Mapping[str, Any]) -> bool:
        """Replace text and origin of a task whose turn has not begun; return False, changing nothing, otherwise.

        A worker that has read the earlier text begins the turn anew with this one. Raises NotFound, StoreError.
        """
        self.execution.accepted_runs.forget(task_id)
        return await host_store(self.services).runs.replace_text(task_id, text, origin)

    async def cancel(self, task_id: str) -> Run:
        """Cancel a task and return its run, which may still be stopping if that takes longer than
        `CANCEL_TIMEOUT_SECONDS`, in this process or in another one.

        A run that has an outcome keeps it. Raises NotFound.
        """
        self.execution.accepted_runs.forget(task_id)
        return await self._cancellation.cancel(task_id)

    async def find_position(self, task_id: str) -> int | None:
        """Return how many tasks are ahead of a waiting task; None if it does not wait, or the queue does not say."""
        with suppress(QueueUnavailable), self.queue_health.watch():
            return await self.queue.position(task_id)
        return None

    async def delete_session(self, session_id: str) -> None:
        """Cancel the session's tasks, delete the session and end all subscriptions to it. Raises NotFound, Busy.

        Busy: a turn did not stop within a second. The session still exists; retry when the turn has ended. Messages
        for the session wait meanwhile, and are then messages to a new session. Completes even if the caller is
        cancelled.
        """
        await complete(self._deletion.delete(session_id))

    async def delete_idle_session(self, session_id: str, before: datetime) -> bool:
        """Delete the session if nothing was added to it since a time and nothing is to happen in it.

        Return whether it was deleted. Completes even if the caller is cancelled.
        """
        return await complete(self._deletion.delete_idle(session_id, before))

    async def start(self) -> None:
        """Recover unfinished runs, then start the worker.

        Raises InputError for what the loops need and do not find, SettingsError without the extra of
        `Telemetry.Endpoint`.
        """
        await self.services.store.open()  # again: it may have been open before it was extended
        loops = [loop for create in self._create_loops for loop in create(self.services, self.membership)]
        self._trace_export.start(os.environ)
        await self.fanout.open()
        self.event_bus.start()
        self.signals.start()
        self.session_changes.start()
        await self._outcome_writer.record_kept_usage()
        await self.execution.start()
        self._loops.start([*self._list_own_loops(), *loops])
        self.membership.start(lambda: self.running_turns)
        self.is_running = True

    def _list_own_loops(self) -> Iterator[BackgroundLoop]:
        services = self.services
        yield BackgroundLoop(partial(self.approvals.expiry.run, self._gate))
        yield BackgroundLoop(self.execution.reconciler.run_forever)
        yield BackgroundLoop(self.store_monitor.run_forever)
        sweep = RetentionSweep(host_store(services), services.clock, services.settings, services.folder, self)
        yield BackgroundLoop(sweep.run_forever, "retention")

    def begin_shutdown(self) -> None:
        """Report from now on that this process is not ready, so that no new clients are sent to it."""
        self.is_shutting_down, self.is_running = True, False

    async def shutdown(self, *, grace_seconds: float = SHUTDOWN_GRACE_SECONDS) -> None:
        """Shut down: take no more tasks and wait for running turns; interrupted turns resume at the next start."""
        self.begin_shutdown()
        await self.execution.shutdown(grace_seconds)
        await self.signals.stop()
        await self.session_changes.stop()
        await self._loops.stop()
        await self.event_bus.aclose()
        await self.queue.close()
        await self.fanout.close()
        await self.membership.stop()
        await self._trace_export.shutdown()

    async def __aenter__(self) -> Self:
        await self.services.open()
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            await self.shutdown()
        finally:
            await self.services.close()


def _build_pipelines(
    chain: Pipeline | PipelineRegistry | Callable[[Services], PipelineRegistry], services: Services
) -> PipelineRegistry:
    if isinstance(chain, PipelineRegistry):
        return chain
    return PipelineRegistry(chain) if isinstance(chain, Pipeline) else chain(services)


__all__ = ["CANCEL_TIMEOUT_SECONDS", "Host", "RunRequest", "TaskReceipt"]
