"""Parts of the store as a turn on a host sees it: writes that share the transactions of the turn's session."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from sophon.approvals import ApprovalRequest
from sophon.messages import ToolResult
from sophon.security.taint import Taint
from sophon.stores.approvals.contract import ApprovalRecord, ApprovalStore
from sophon.stores.audit.contract import AuditEvent, AuditStore
from sophon.stores.contract import Store
from sophon.stores.data_labels.contract import DataLabelStore, LabelWrite
from sophon.stores.rate_windows.contract import RateEvent, RateWindowStore
from sophon.stores.route_averages.contract import RouteAverageStore, RouteObservation
from sophon.stores.run_fence import RunFence
from sophon.stores.runs.staged_writes import ApprovalWrite, CallWrite
from sophon.stores.sessions.contract import SessionRecord, SessionStore
from sophon.stores.snapshots.contract import SnapshotEvent, SnapshotStore
from sophon.stores.sub_agents.contract import SubAgentRun, SubAgentStore
from sophon.stores.tool_call_journal.contract import Journal, JournalEntry
from sophon.stores.trajectories.contract import TrajectoryStore, TrajectoryWrite
from sophon.stores.vectors.contract import VectorDeletion, VectorRow, VectorStore
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.staging import StagedPart, StagedWrite
from sophon_hosting.runs.active_runs import ActiveRun


class TurnStore:
    """The store of one turn: what it writes about its calls and itself is staged."""

    def __init__(self, active_run: ActiveRun, session_id: str, event_bus: EventBus, store: Store) -> None:
        self._active_run, self._session_id, self._event_bus, self._store = active_run, session_id, event_bus, store

    # Made when first used: a turn without tools needs none of them.
    @cached_property
    def _writes(self) -> "StagedCallWrites":
        return StagedCallWrites(self._active_run, self._session_id, self._event_bus)

    @cached_property
    def audit(self) -> "TurnAudit":
        """The audit log."""
        return TurnAudit(self._active_run, self._writes, self._store.audit)

    @cached_property
    def rate_windows(self) -> "TurnRateWindows":
        """The rate windows."""
        return TurnRateWindows(self._writes, self._store.rate_windows)

    @cached_property
    def data_labels(self) -> "TurnDataLabels":
        """The data labels."""
        return TurnDataLabels(self._writes, self._store.data_labels)

    @cached_property
    def snapshots(self) -> "TurnSnapshots":
        """The snapshots."""
        return TurnSnapshots(self._writes, self._store.snapshots)

    @cached_property
    def trajectories(self) -> "TurnTrajectories":
        """The trajectories."""
        return TurnTrajectories(self._writes, self._store.trajectories)

    @cached_property
    def vectors(self) -> "TurnVectors":
        """The vectors."""
        return TurnVectors(self._writes, self._store.vectors)

    @cached_property
    def route_averages(self) -> "TurnRouteAverages":
        """The averages of routing."""
        return TurnRouteAverages(self._writes, self._store.route_averages)

    @cached_property
    def sub_agents(self) -> "TurnSubAgents":
        """The ledger of sub-agents."""
        return TurnSubAgents(self._writes, self._store.sub_agents)

    @cached_property
    def journal(self) -> "TurnJournal":
        """The journal of the calls."""
        return TurnJournal(self._active_run, self._session_id, self._event_bus, self._store.journal, self._writes)

    @cached_property
    def sessions(self) -> "TurnSessions":
        """The sessions."""
        return TurnSessions(self._active_run, self._store.sessions)

    @cached_property
    def approvals(self) -> "TurnApprovals":
        """The approval requests."""
        return TurnApprovals(self._active_run, self._session_id, self._event_bus, self._store.approvals)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class StagedCallWrites:
    """What guards store about calls: staged, and stored with the journal entry of the call that they are about.

    Once the store has refused one of them for good, no further call may run.
    """

    def __init__(self, active_run: ActiveRun, session_id: str, event_bus: EventBus) -> None:
        self._run_id, self._session_id, self._event_bus = active_run.task_id, session_id, event_bus
        self._parts: list[StagedPart] = []

    def stage(self, writes: Iterable[StagedWrite]) -> None:
        """Stage writes. Raises the error for which the store has refused an earlier one."""
        self.check()
        self._parts += [self._event_bus.stage(self._session_id, write, run_id=self._run_id) for write in writes]

    def check(self) -> None:
        """Raise the error for which the store has refused a write for good."""
        for part in self._parts:
            check_checkpoint(part)
        self._parts = [part for part in self._parts if part.write is not None]


class TurnJournal:
    """Journal whose writes take with them what is staged: the checkpoint before the call, and the events about it.

    So a call starts only when the checkpoint that contains it and what the guards store about it are stored. `journal`
    reads. Raises StoreUnavailable, and then nothing of the call is stored.
    """

    def __init__(
        self, active_run: ActiveRun, session_id: str, event_bus: EventBus, journal: Journal, writes: StagedCallWrites
    ) -> None:
        self._active_run, self._session_id, self._event_bus, self._journal = active_run, session_id, event_bus, journal
        self._writes = writes

    async def start(self, run_id: str, call_id: str, tool: str) -> None:
        """See `Journal.start`."""
        check_checkpoint(self._active_run.checkpoint)
        await self._store(run_id, JournalEntry(call_id, tool))
        check_checkpoint(self._active_run.checkpoint)
        self._writes.check()

    async def finish(self, run_id: str, result: ToolResult) -> None:
        """See `Journal.finish`."""
        await self._store(run_id, JournalEntry(result.call_id, result.tool, result))

    async def load_entries(self, run_id: str) -> dict[str, JournalEntry]:
        """See `Journal.load_entries`."""
        return await self._journal.load_entries(run_id)

    async def delete(self, run_id: str, *, fence: RunFence | None = None) -> None:
        """See `Journal.delete`. The journal of a turn that has its outcome was deleted with it, and one that has its
        outcome from a later start leaves it to that.
        """
        if not (self._active_run.has_outcome or self._active_run.is_elsewhere):
            await self._journal.delete(run_id, fence=fence or self._active_run.fence)

    async def expire(self, before: datetime) -> int:
        """See `Journal.expire`."""
        return await self._journal.expire(before)

    async def _store(self, run_id: str, entry: JournalEntry) -> None:
        await self._event_bus.store(self._session_id, CallWrite(run_id, entry), run_id=self._active_run.task_id)


class TurnSessions:
    """Sessions as a turn sees them: what it appends carries its fence."""

    def __init__(self, active_run: ActiveRun, sessions: SessionStore) -> None:
        self._active_run, self._sessions = active_run, sessions

    async def append(
        self, session_id: str, records: Sequence[SessionRecord], *, owner: str = "", fence: RunFence | None = None
    ) -> int:
        """See `SessionStore.append`."""
        return await self._sessions.append(session_id, records, owner=owner, fence=fence or self._active_run.fence)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sessions, name)


class TurnAudit:
    """Audit log of a turn, whose entries are staged. Their chat is that of the run."""

    def __init__(self, active_run: ActiveRun, writes: StagedCallWrites, audit: AuditStore) -> None:
        self._active_run, self._writes, self._audit = active_run, writes, audit

    async def append(self, events: Sequence[AuditEvent]) -> None:
        """See `AuditStore.append`. Raises the error for which the store has refused an earlier entry."""
        run = self._active_run.run
        chat = str(run.origin.get("chat") or "") if run is not None else ""
        self._writes.stage(replace(event, chat=chat) for event in events)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._audit, name)


class TurnRateWindows:
    """Rate windows of a turn, whose events are staged."""

    def __init__(self, writes: StagedCallWrites, rate_windows: RateWindowStore) -> None:
        self._writes, self._rate_windows = writes, rate_windows

    async def add(self, events: Sequence[RateEvent]) -> None:
        """See `RateWindowStore.add`. Raises the error for which the store has refused an earlier write."""
        self._writes.stage(events)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rate_windows, name)


class TurnDataLabels:
    """Data labels of a turn, whose writes are staged."""

    def __init__(self, writes: StagedCallWrites, data_labels: DataLabelStore) -> None:
        self._writes, self._data_labels = writes, data_labels

    async def write(self, writes: Sequence[LabelWrite]) -> None:
        """See `DataLabelStore.write`. Raises the error for which the store has refused an earlier write."""
        self._writes.stage(writes)

    async def find(self, keys: Sequence[str]) -> dict[str, Taint]:
        """See `DataLabelStore.find`."""
        return await self._data_labels.find(keys)


class TurnSnapshots:
    """Snapshots of a turn, whose metadata is staged."""

    def __init__(self, writes: StagedCallWrites, snapshots: SnapshotStore) -> None:
        self._writes, self._snapshots = writes, snapshots

    async def add(self, events: Sequence[SnapshotEvent]) -> None:
        """See `SnapshotStore.add`. Raises the error for which the store has refused an earlier write."""
        self._writes.stage(events)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshots, name)


class TurnTrajectories:
    """Trajectories of a turn, which are staged: stored with its outcome."""

    def __init__(self, writes: StagedCallWrites, trajectories: TrajectoryStore) -> None:
        self._writes, self._trajectories = writes, trajectories

    async def add(self, writes: Sequence[TrajectoryWrite]) -> None:
        """See `TrajectoryStore.add`. Raises the error for which the store has refused an earlier write."""
        self._writes.stage(writes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trajectories, name)


class TurnVectors:
    """Vectors of a turn, which are staged."""

    def __init__(self, writes: StagedCallWrites, vectors: VectorStore) -> None:
        self._writes, self._vectors = writes, vectors

    async def put(self, rows: Sequence[VectorRow]) -> None:
        """See `VectorStore.put`. Raises the error for which the store has refused an earlier write."""
        self._writes.stage(rows)

    async def delete(self, namespace: str, keys: Sequence[str]) -> None:
        """See `VectorStore.delete`; of a turn by key alone. Raises as `put`."""
        self._writes.stage([VectorDeletion(namespace, key) for key in keys])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vectors, name)


class TurnRouteAverages:
    """Moving averages of routing of a turn, whose observations are staged."""

    def __init__(self, writes: StagedCallWrites, route_averages: RouteAverageStore) -> None:
        self._writes, self._route_averages = writes, route_averages

    async def add(self, observations: Sequence[RouteObservation]) -> None:
        """See `RouteAverageStore.add`. Raises the error for which the store has refused an earlier write."""
        self._writes.stage(observations)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._route_averages, name)


class TurnSubAgents:
    """Ledger of the sub-agents of a turn, whose rows are staged."""

    def __init__(self, writes: StagedCallWrites, sub_agents: SubAgentStore) -> None:
        self._writes, self._sub_agents = writes, sub_agents

    async def put(self, rows: Sequence[SubAgentRun]) -> None:
        """See `SubAgentStore.put`. Raises the error for which the store has refused an earlier write."""
        self._writes.stage(rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sub_agents, name)


class TurnApprovals:
    """Approval store that stores a request with the checkpoint and the event that announces it.

    After a kill, the same call must be asked about; and whoever answers the event at once must find the request.
    """

    def __init__(self, active_run: ActiveRun, session_id: str, event_bus: EventBus, approvals: ApprovalStore) -> None:
        self._active_run, self._session_id = active_run, session_id
        self._event_bus, self._approvals = event_bus, approvals

    async def get_or_create(self, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
        """See `ApprovalStore.get_or_create`."""
        check_checkpoint(self._active_run.checkpoint)
        # Before anything is awaited, and without a waiter, so that the request stays staged as long as its event is
        # pending: whichever transaction stores the event stores the request too. A known request is not changed.
        part = self._event_bus.stage(self._session_id, ApprovalWrite(request, at), run_id=self._active_run.task_id)
        await self._event_bus.flush(self._session_id)
        check_checkpoint(part)
        check_checkpoint(self._active_run.checkpoint)
        return await self._approvals.get(request.id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._approvals, name)


def check_checkpoint(checkpoint: StagedPart | None) -> None:
    """Raise the error for which the store has refused a checkpoint: nothing may follow that needs it."""
    if checkpoint is not None and checkpoint.error is not None:
        raise checkpoint.error
