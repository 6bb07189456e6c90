"""In-memory run store."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sophon.approvals import ApprovalRequest, Decision
from sophon.clock import Clock
from sophon.errors import StaleRun
from sophon.stores.attachments.contract import ids_in_options
from sophon.stores.attachments.in_memory import InMemoryAttachmentStore
from sophon.stores.audit.in_memory import InMemoryAuditStore
from sophon.stores.data_labels.in_memory import InMemoryDataLabelStore
from sophon.stores.events.contract import LoggedEvent
from sophon.stores.events.in_memory import InMemoryEventLog
from sophon.stores.outbound_entry import OutboundEntry
from sophon.stores.outbox.in_memory import InMemoryOutbox
from sophon.stores.outbox.transitions import assign_run
from sophon.stores.rate_windows.in_memory import InMemoryRateWindowStore
from sophon.stores.route_averages.in_memory import InMemoryRouteAverageStore
from sophon.stores.run_fence import RunFence, check_start
from sophon.stores.runs.contract import (
    AcceptResult,
    BeginResult,
    EventFactory,
    FinishResult,
    InboundKey,
    PendingRun,
    Precondition,
    Run,
    RunOutcome,
    RunStatus,
    Withdrawal,
    no_events,
)
from sophon.stores.runs.staged_writes import NOTHING_STAGED, LogWrite, StagedWrites
from sophon.stores.runs.transitions import (
    SUGGESTION_POOL_SIZE,
    accept_run,
    begin_run,
    check_precondition,
    check_session_owner,
    finish_run,
    give_to,
    is_replaceable,
    run_id_taken,
    run_not_found,
    suspend_run,
)
from sophon.stores.sessions.contract import SessionBranch, SessionRecord
from sophon.stores.sessions.in_memory import InMemorySessionStore
from sophon.stores.snapshots.in_memory import InMemorySnapshotStore
from sophon.stores.sub_agents.in_memory import InMemorySubAgentStore
from sophon.stores.texts.references import cut_texts
from sophon.stores.tool_call_journal.in_memory import InMemoryJournal
from sophon.stores.traces.in_memory import InMemoryTraceStore
from sophon.stores.trajectories.in_memory import InMemoryTrajectoryStore
from sophon.stores.usage.contract import UsageRow, UsageStore
from sophon.stores.vectors.in_memory import InMemoryVectorStore


class InMemoryRunStore:
    """The runs of an `InMemoryStore`; see `RunStore`. `rows` maps ids to runs in order of acceptance."""

    def __init__(
        self,
        clock: Clock,
        rows: dict[str, Run],
        sessions: InMemorySessionStore,
        outbox: InMemoryOutbox,
        events: InMemoryEventLog,
        journal: InMemoryJournal,
        usage: UsageStore,
        audit: InMemoryAuditStore,
        rates: InMemoryRateWindowStore,
        data_labels: InMemoryDataLabelStore,
        snapshots: InMemorySnapshotStore,
        trajectories: InMemoryTrajectoryStore,
        traces: InMemoryTraceStore,
        vectors: InMemoryVectorStore,
        route_averages: InMemoryRouteAverageStore,
        sub_agents: InMemorySubAgentStore,
        attachments: InMemoryAttachmentStore,
        add_request: Callable[[ApprovalRequest, datetime], object],
        decide_requests: Callable[[str, Decision, datetime], Sequence[ApprovalRequest]],
        find_version: Callable[[Precondition], int | None],
    ) -> None:
        self._find_version = find_version
        self._add_request, self._decide_requests = add_request, decide_requests
        self._clock = clock
        self._rows = rows
        self._sessions, self._outbound, self._events = sessions, outbox, events
        self._journal, self._usage, self._audit = journal, usage, audit
        self._rates, self._data_labels, self._snapshots = rates, data_labels, snapshots
        self._trajectories, self._traces, self._vectors = trajectories, traces, vectors
        self._route_averages, self._sub_agents = route_averages, sub_agents
        self._attachments = attachments
        self._orders = itertools.count(1)
        self._unfinished: dict[str, None] = {}
        self._unfinished_of: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._queued: set[str] = set()
        self._signalled: set[str] = set()
        self._by_session: defaultdict[str, list[str]] = defaultdict(list)
        self._logs: dict[str, dict[int, list[Any]]] = {}
        self._inbound: dict[InboundKey, str] = {}
        self._keys: dict[str, InboundKey] = {}
        sessions.on_delete(self._delete_session)

    async def accept(
        self,
        run: Run,
        key: InboundKey | None = None,
        *,
        session_owner: str | None = None,
        events: EventFactory = no_events,
        staged: StagedWrites = NOTHING_STAGED,
        branch: SessionBranch | None = None,
        precondition: Precondition | None = None,
    ) -> AcceptResult:
        """See `RunStore.accept`."""
        known = self._inbound.get(key) if key is not None else None
        if known is not None:
            return AcceptResult(self._rows[known], created=False)
        if precondition is not None:
            check_precondition(precondition, self._find_version(precondition))
        if run.id in self._rows:
            raise run_id_taken(run.id)
        new = accept_run(run, next(self._orders), self._clock.now())
        files, owner = ids_in_options(run.options), session_owner or run.owner
        if branch is None:
            check_session_owner(run, (await self._sessions.find(run.session_id)), session_owner)
        self._attachments.check(run.session_id if branch is None else branch.session_id, files, owner)
        if branch is not None:
            source = await self._sessions.get(branch.session_id)
            check_session_owner(run, source, session_owner)  # before the copy, which belongs to the same owner
            await self._sessions.fork(branch.session_id, run.session_id, upto=branch.upto, branch=True)
        await self._sessions.get_or_create(run.session_id, owner)
        self._sessions.suggest_title(run.session_id, run.text)
        self._attachments.use(run.session_id, files, owner)
        self._rows[run.id] = new
        self._unfinished[run.id] = self._unfinished_of[run.session_id][run.id] = None
        self._queued.add(run.id)
        self._by_session[run.session_id].append(run.id)
        if key is not None:
            self._inbound[key], self._keys[run.id] = run.id, key
        return AcceptResult(new, created=True, seq=await self.record(run.session_id, staged, events(0)))

    async def begin(
        self,
        run_id: str,
        at: datetime,
        *,
        records: Sequence[SessionRecord] = (),
        events: EventFactory = no_events,
        staged: StagedWrites = NOTHING_STAGED,
        seen_starts: int | None = None,
        seen_text: str | None = None,
    ) -> BeginResult:
        """See `RunStore.begin`."""
        session_id = self._get(run_id).session_id
        earlier = self._find_earlier(run_id)
        result = begin_run(self._get(run_id), at, waits_for=earlier, seen_starts=seen_starts, seen_text=seen_text)
        await self.record(session_id, staged, ())
        result = replace(result, run=replace(result.run, checkpoint=self._get(run_id).checkpoint))
        if result.verdict in ("over", "waits"):
            return result
        # What can fail comes first: an invalid record then leaves the run unchanged.
        recorded = await self._sessions.append(session_id, records) if records else 0
        if result.verdict == "begun":
            self._rows[run_id] = result.run
            self._queued.discard(run_id)
            self._signalled.discard(run_id)
        seq = await self._events.append(session_id, events(recorded))
        return replace(result, run=self._rows[run_id], seq=seq, last_record_seq=recorded)

    async def record(self, session_id: str, staged: StagedWrites, events: Sequence[LoggedEvent]) -> int:
        """See `RunStore.record`."""
        self._check_fences(staged.fences)
        for checkpoint in staged.checkpoints:
            await self.checkpoint(checkpoint.run_id, checkpoint.state, checkpoint.logs)
        for call in staged.calls:
            self._journal.put(call.run_id, call.entry)
        for approval in staged.approvals:
            self._add_request(approval.request, approval.at)
        self._audit.put(staged.audit)
        self._rates.put(staged.rates)
        self._data_labels.put(staged.labels)
        self._snapshots.put(staged.snapshots)
        self._trajectories.put(staged.trajectories)
        self._traces.put(staged.traces)
        self._vectors.add(staged.vectors)
        self._route_averages.put(staged.routes)
        self._sub_agents.add(staged.sub_agents)
        return await self._events.append(session_id, events)

    async def checkpoint(
        self, run_id: str, state: Mapping[str, Any], logs: Sequence[LogWrite] = (), *, start: int | None = None
    ) -> bool:
        """See `RunStore.checkpoint`."""
        run = self._get_started(run_id, start)
        if run.status != "running":
            return False
        self._rows[run_id] = replace(run, checkpoint=state)
        self._write_logs(run_id, logs)
        return True

    async def suspend(
        self,
        run_id: str,
        state: Mapping[str, Any],
        waiting_for: Sequence[str],
        logs: Sequence[LogWrite] = (),
        *,
        staged: StagedWrites = NOTHING_STAGED,
        start: int | None = None,
    ) -> Run:
        """See `RunStore.suspend`."""
        found = self._get_started(run_id, start)
        await self.record(found.session_id, staged, ())
        run = self._rows[run_id] = suspend_run(found, state, waiting_for)
        if run is not found:
            self._write_logs(run_id, logs)
            if not run.waiting_for:
                self.signal(run_id)
        return run

    async def load_logs(self, run_id: str) -> Mapping[int, Sequence[Any]]:
        """See `RunStore.load_logs`."""
        self._get(run_id)
        return {number: list(entries) for number, entries in self._logs.get(run_id, {}).items()}

    async def finish(
        self,
        run_id: str,
        outcome: RunOutcome,
        *,
        records: Sequence[SessionRecord] = (),
        outbound: Sequence[OutboundEntry] = (),
        usage: Sequence[UsageRow] = (),
        events: EventFactory = no_events,
        staged: StagedWrites = NOTHING_STAGED,
        start: int | None = None,
        unless_running: bool = False,
        withdrawal: Withdrawal | None = None,
    ) -> FinishResult:
        """See `RunStore.finish`."""
        run = self._get_started(run_id, start)
        self._check_fences(staged.fences)
        if unless_running and run.status == "running":
            return FinishResult(is_first=False, seq=await self.record(run.session_id, staged, ()), is_running=True)
        if run.is_finished:
            await self._usage.record(usage)
            return FinishResult(is_first=False, seq=await self.record(run.session_id, staged, ()))
        # The only step that can fail comes first: an invalid record then leaves everything unchanged.
        recorded = await self._sessions.append(run.session_id, records) if records else 0
        await self._usage.record(usage)
        await self._outbound.add(assign_run(run_id, outbound))
        if withdrawal is not None:
            for approval in staged.approvals:
                self._add_request(approval.request, approval.at)
            withdrawal.note(self._decide_requests(run_id, withdrawal.decision, self._clock.now()))
        seq = await self.record(run.session_id, staged, events(recorded))
        await self._journal.delete(run_id)
        self._rows[run_id] = finish_run(run, outcome, self._clock.now(), start)
        self._forget_unfinished(run_id)
        return FinishResult(True, seq, recorded)

    async def replace_text(self, run_id: str, text: str, origin: Mapping[str, Any]) -> bool:
        """See `RunStore.replace_text`."""
        run = self._get(run_id)
        if is_replaceable(run):
            self._rows[run_id] = replace(run, text=text, origin=dict(origin))
        return is_replaceable(run)

    async def request_cancel(self, run_id: str) -> Run:
        """See `RunStore.request_cancel`."""
        run = self._get(run_id)
        if not run.is_finished:
            run = self._rows[run_id] = replace(run, cancel_requested=True)
            self.signal(run_id)
        return run

    def signal(self, run_id: str) -> None:
        """Signal a run (see `RunStore.list_pending`), unless it is unknown or has its outcome."""
        if run_id in self._unfinished:
            self._signalled.add(run_id)

    async def change_owner(self, run_id: str, owner: str) -> Run:
        """See `RunStore.change_owner`."""
        previous = self._get(run_id)
        run = self._rows[run_id] = give_to(previous, owner)
        key = self._keys.get(run_id)
        if key is not None and key.account == previous.owner:
            renamed = replace(key, account=owner)
            if renamed not in self._inbound:
                del self._inbound[key]
                self._inbound[renamed], self._keys[run_id] = run_id, renamed
        return run

    async def get(self, run_id: str) -> Run:
        """See `RunStore.get`."""
        return self._get(run_id)

    async def find(self, run_id: str) -> Run | None:
        """See `RunStore.find`."""
        return self._rows.get(run_id)

    async def find_by_key(self, key: InboundKey) -> Run | None:
        """See `RunStore.find_by_key`."""
        run_id = self._inbound.get(key)
        return None if run_id is None else self._rows[run_id]

    async def list_by_account(self, channel: str, account: str, limit: int) -> list[tuple[InboundKey, Run]]:
        """See `RunStore.list_by_account`."""
        keys = [each for each in self._inbound if (each.channel, each.account) == (channel, account)]
        keys.sort(key=lambda each: each.external_id, reverse=True)
        found = [(key, self._rows[self._inbound[key]]) for key in keys[: max(limit, 0)]]
        return [(key, replace(run, checkpoint=None, response=cut_texts(run.response))) for key, run in found]

    async def count_ahead(self, run_id: str) -> int:
        """See `RunStore.count_ahead`."""
        if self._get(run_id).status != "queued":
            return 0
        before = itertools.takewhile(lambda each: each != run_id, self._unfinished)
        return sum(self._rows[each].status == "queued" for each in before)

    async def expire(self, before: datetime) -> int:
        """See `RunStore.expire`."""
        ended = [run for run in _ended(self._rows, before) if not self._outbound.has_open(run.id)]
        for run in ended:
            self._by_session[run.session_id].remove(run.id)
            self._delete(run.id)
        return len(ended)

    async def expire_keys(self, before: datetime) -> int:
        """See `RunStore.expire_keys`."""
        keys = [self._keys.pop(run.id) for run in _ended(self._rows, before) if run.id in self._keys]
        for key in keys:
            del self._inbound[key]
        return len(keys)

    async def list_unfinished(self, session_id: str | None = None) -> list[Run]:
        """See `RunStore.list_unfinished`."""
        unfinished = (self._rows[run_id] for run_id in self._unfinished)
        return [run for run in unfinished if session_id is None or run.session_id == session_id]

    async def list_pending(self) -> list[PendingRun]:
        """See `RunStore.list_pending`."""
        ids = sorted(self._queued | self._signalled, key=lambda run_id: self._rows[run_id].order)
        rows = [self._rows[run_id] for run_id in ids]
        return [PendingRun(row.id, row.id in self._signalled, row.session_id, row.owner) for row in rows]

    async def list_running(self) -> list[PendingRun]:
        """See `RunStore.list_running`."""
        rows = [row for run_id in self._unfinished if (row := self._rows[run_id]).status == "running"]
        return [PendingRun(row.id, row.id in self._signalled, row.session_id, row.owner) for row in rows]

    async def list(
        self,
        *,
        session_id: str | None = None,
        owner: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
        whole: bool = True,
        before: str | None = None,
    ) -> list[Run]:
        """See `RunStore.list`."""
        first = None if before is None else self._get(before)
        among = self._rows if session_id is None else self._by_session.get(session_id, [])
        selected = (
            run
            for run in map(self._rows.__getitem__, reversed(among))
            if (owner is None or run.owner == owner)
            and (status is None or run.status == status)
            and (first is None or run.order < first.order)
        )
        found = itertools.islice(selected, max(limit, 0))
        return [run if whole else replace(run, checkpoint=None, response=cut_texts(run.response)) for run in found]

    def _get(self, run_id: str) -> Run:
        run = self._rows.get(run_id)
        if run is None:
            raise run_not_found(run_id, itertools.islice(reversed(self._rows), SUGGESTION_POOL_SIZE))
        return run

    def _get_started(self, run_id: str, start: int | None) -> Run:
        run = self._get(run_id)
        if start is not None:
            check_start(run_id, start, run.starts)
        return run

    def check_fence(self, fence: RunFence | None) -> None:
        """Raise StaleRun if the fence is old, or its run was deleted."""
        if fence is None:
            return
        run = self._rows.get(fence.run_id)
        if run is None:
            raise StaleRun(fence.run_id, fence.start)
        check_start(run.id, fence.start, run.starts)

    def has_unfinished(self, session_id: str) -> bool:
        """Return whether a run of the session has no outcome."""
        return bool(self._unfinished_of.get(session_id))

    def _check_fences(self, fences: Sequence[RunFence]) -> None:
        for fence in fences:
            self.check_fence(fence)

    def _find_earlier(self, run_id: str) -> str:
        """Return the id of the first unfinished run before it in its session, "" if there is none."""
        first = next(iter(self._unfinished_of.get(self._rows[run_id].session_id, ())), run_id)
        return "" if first == run_id else first

    def _delete_session(self, session_id: str) -> None:
        for run_id in self._by_session.pop(session_id, []):
            self._delete(run_id)

    def _write_logs(self, run_id: str, writes: Sequence[LogWrite]) -> None:
        if not writes:
            return
        logs = self._logs.setdefault(run_id, {})
        for write in writes:
            entries = logs.setdefault(write.log, [])
            entries[write.start :] = write.entries
            if not entries:
                del logs[write.log]

    def _forget_unfinished(self, run_id: str) -> None:
        self._logs.pop(run_id, None)
        self._unfinished.pop(run_id, None)
        own = self._unfinished_of.get(session_id := self._rows[run_id].session_id, {})
        own.pop(run_id, None)
        if not own:
            self._unfinished_of.pop(session_id, None)
        self._queued.discard(run_id)
        self._signalled.discard(run_id)

    def _delete(self, run_id: str) -> None:
        self._forget_unfinished(run_id)
        del self._rows[run_id]
        self._outbound.delete_run(run_id)
        self._journal.forget_turn(run_id)
        key = self._keys.pop(run_id, None)
        if key is not None:
            del self._inbound[key]


def _ended(rows: Mapping[str, Run], before: datetime) -> list[Run]:
    return [run for run in rows.values() if run.finished_at is not None and run.finished_at < before]
