"""Outcomes of runs: session records, outcome, outbound entries and last events, written in one transaction."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from sophon.approvals import ApprovalRequest, Decision
from sophon.clock import Clock
from sophon.context import TurnFacts
from sophon.context.state import UsageCounts
from sophon.context.turn_log import ClaimedTurn, TurnEnd, TurnEvents
from sophon.errors import ChainError, NotFound, StoreUnavailable
from sophon.events import Emit, Event
from sophon.messages import Response
from sophon.stores.run_fence import RunFence, StaleRun
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.unit_of_work import UnitOfWork, WriteKind
from sophon.stores.usage.contract import UsageRow
from sophon.traces.trace import Trace
from sophon.turn.session_log import SessionLog
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.session_transactions import BuildRows, Stored
from sophon_hosting.runs.active_runs import ActiveRun, ActiveRuns, HeldOutcome
from sophon_hosting.runs.answer_entries import OutboundBuilder, build_answer_entries
from sophon_hosting.runs.approvals.decision_writer import build_resolution_event
from sophon_hosting.runs.traces import find_outcome_trace, to_writes
from sophon_hosting.runs.unrecorded_usage import UnrecordedUsageFile
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import (
    BeginResult,
    FinishResult,
    OutdatedRun,
    Run,
    RunError,
    RunOutcome,
    Withdrawal,
)

log = logging.getLogger("sophon")

WITHDRAWN = Decision.reject("the task has ended")
"""Decision on what a run has asked and nobody has decided when it ends."""

LARGE_ANSWER_CHARACTERS = 64 * 1024
"""Length from which an answer is rendered in a thread: a megabyte of markdown takes seconds."""

RecordUse: TypeAlias = Callable[[Run, Sequence[UsageRow]], Awaitable[None]]
"""Receives what a run has used once its outcome is stored; must not raise."""

ExportTrace: TypeAlias = Callable[[Trace, Run, Response | None], None]
"""Receives the trace of each run whose outcome is stored; must not block or raise."""


class OutcomeWriter:
    """Writes the outcomes of runs, then publishes their last events in order. All outcomes are written here."""

    def __init__(
        self,
        store: HostStore,
        event_bus: EventBus,
        clock: Clock,
        build_outbound: OutboundBuilder = build_answer_entries,
        unrecorded_usage: UnrecordedUsageFile | None = None,
        record_use: RecordUse | None = None,
        export_trace: ExportTrace | None = None,
    ) -> None:
        self._store, self._event_bus, self._clock, self._builder = store, event_bus, clock, build_outbound
        self._unrecorded_usage, self._record_use, self._export_trace = unrecorded_usage, record_use, export_trace

    async def write(
        self, active_run: ActiveRun, run: Run, records: Sequence[SessionRecord], turn_end: TurnEnd
    ) -> FinishResult:
        """Write the outcome; publish its events if it is the run's first outcome.

        Raises StoreError, NotFound, and StaleRun or OutdatedRun if another process has started the run meanwhile.

        What the run has asked and nobody has decided is withdrawn by the same write, and told before the outcome. An
        outcome for which the store is unavailable is held by the run before StoreUnavailable is raised.
        """
        outcome = outcome_from_turn_end(turn_end)
        outbound = await self._build_outbound(run, outcome)
        try:
            trace = await find_outcome_trace(active_run, run, turn_end, self._store.traces, self._clock.now())
        except StoreUnavailable:
            active_run.held_outcome = HeldOutcome(records, turn_end)
            raise
        active_run.begin_finalizing()
        withdrawn: Sequence[ApprovalRequest] = ()

        def note_withdrawn(requests: Sequence[ApprovalRequest]) -> None:
            nonlocal withdrawn
            withdrawn = requests

        withdrawal = Withdrawal(WITHDRAWN, note_withdrawn) if active_run.may_have_asked else None

        async def finish(build_rows: BuildRows, unit: UnitOfWork) -> Stored[FinishResult]:
            def build_events(last_record_seq: int) -> Sequence[LoggedEvent]:
                resolutions = [build_resolution_event(request, WITHDRAWN) for request in withdrawn]
                return build_rows([*resolutions, *address_events(run, turn_end.events(last_record_seq))])

            # Its outcome makes the checkpoints of a run useless. One that the store refuses for good must not keep it
            # from storing the outcome.
            writes = [each for each in unit.writes if each.kind is not WriteKind.CHECKPOINT or each.run_id != run.id]
            finished = await self._store.runs.finish(
                run.id,
                outcome,
                records=records,
                outbound=outbound,
                usage=active_run.usage,
                events=build_events,
                unit=replace(unit, writes=[*writes, *to_writes(trace)]),
                start=active_run.start,
                seen_starts=active_run.seen_starts if active_run.fence is None else None,
                unless_running=active_run.unless_running,
                withdrawal=withdrawal,
            )
            # Before its events are published, with which the jobs behind it begin.
            active_run.has_outcome = not finished.is_running
            return finished, finished.seq if finished.is_first else None

        try:
            finished = await self._event_bus.commit(run.session_id, finish)
        except StoreUnavailable:
            active_run.held_outcome = HeldOutcome(records, turn_end)
            raise
        except (StaleRun, OutdatedRun) as refusal:
            active_run.leave_to_others(refusal)
            raise
        if finished.is_running:
            return finished
        used = active_run.usage
        active_run.held_outcome, active_run.usage = None, []
        if finished.is_first and self._record_use is not None:
            await self._record_use(run, used)
        if finished.is_first and trace is not None and self._export_trace is not None:
            self._export_trace(trace, run, turn_end.response)
        return finished

    async def record_lost_usage(self, active_run: ActiveRun) -> None:
        """Write what a run that has no outcome yet used since its checkpoint, from which it is resumed.

        What the run has staged is stored before: the next start must not read the checkpoint in front of it. If another
        process has deleted the session, nobody resumes the run; then all of its usage is written.
        """
        run = active_run.run
        if active_run.has_outcome or run is None:
            return
        with suppress(NotFound):
            await self._event_bus.flush(run.session_id)
        lost = subtract_usage(active_run.usage, active_run.stored_usage)
        if active_run.usage and await self._store.runs.find(run.id) is None:
            # A later session of that id has not used it.
            lost = [replace(row, session_id="") for row in active_run.usage]
        if lost:
            await self._store.usage.record(lost)
        active_run.usage = []

    def keep_usage(self, active_run: ActiveRun) -> None:
        """Keep on disk what `record_lost_usage` could not write, for the next start; blocks."""
        lost, active_run.usage = subtract_usage(active_run.usage, active_run.stored_usage), []
        if lost and self._unrecorded_usage is not None and not active_run.has_outcome:
            self._unrecorded_usage.append(lost)

    async def record_kept_usage(self) -> None:
        """Write what the last stop has kept on disk to the store. Raises StoreError."""
        if self._unrecorded_usage is not None:
            await self._unrecorded_usage.record()

    async def _build_outbound(self, run: Run, outcome: RunOutcome) -> Sequence[OutboundEntry]:
        if len((outcome.response or {}).get("text", "")) < LARGE_ANSWER_CHARACTERS:
            return self._builder(run, outcome)
        return await self._clock.run_in_thread(partial(self._builder, run, outcome))


class RunTurnLog:
    """`TurnLog` of a host. Turns that are no active run, and suspensions, are written by `SessionLog`.

    A turn interrupted by its time limit or by shutdown is not recorded as cancelled, because only a user cancels; its
    worker determines the outcome. One that failed because the store is unavailable is not recorded as failed: it
    resumes when the store is available again.
    """

    def __init__(
        self, active_runs: ActiveRuns, outcome_writer: OutcomeWriter, store: HostStore, event_bus: EventBus
    ) -> None:
        self._active_runs, self._outcome_writer = active_runs, outcome_writer
        self._store, self._event_bus = store, event_bus
        self._session_log = SessionLog(store)

    async def begin(self, turn: TurnFacts, records: Sequence[SessionRecord], events: TurnEvents, emit: Emit, /) -> None:
        """See `TurnLog.begin`. Begins the run with it. Raises ChainError if the run has its outcome, or waits for an
        earlier one, StaleRun if another has started it, and OutdatedRun if it was changed since it was read.

        A run whose cancellation was requested meanwhile is cancelled.
        """
        active_run = self._active_runs.get(turn.run_id)
        if active_run is None or active_run.run is None or not active_run.must_begin:
            await self._session_log.begin(turn, records, events, emit)
            return
        run, now = active_run.run, turn.started_at
        assert now is not None
        seen = run.starts - 1  # the worker has counted this start already

        # Within the transaction, which completes also if the turn is cancelled meanwhile.
        async def begin_run(build_rows: BuildRows, unit: UnitOfWork) -> Stored[BeginResult]:
            begun = await self._store.runs.begin(
                run.id,
                now,
                records=records,
                events=lambda last_record_seq: build_rows(address_events(run, events(last_record_seq))),
                unit=unit,
                seen_starts=seen,
                seen_text=run.text,
            )
            if begun.verdict == "begun":
                active_run.run = begun.run
                begin_fence(active_run, self._event_bus)
            return begun, begun.seq if begun.verdict not in ("over", "waits") else None

        try:
            result = await self._event_bus.commit(run.session_id, begin_run)
        except StaleRun:
            active_run.is_stale = True
            raise
        except OutdatedRun:
            active_run.is_outdated = True
            raise
        active_run.must_begin = False
        if result.verdict == "begun" and result.run.checkpoint is not None:
            # Its earlier start has stored one since this one was loaded: from the beginning, calls would run again.
            active_run.is_outdated = True
            raise OutdatedRun(run.id)
        if result.verdict == "over":
            active_run.has_outcome = True
            raise ChainError(f"run {run.id} has its outcome already")
        if result.verdict == "waits":
            active_run.waits_for = result.waits_for
            raise ChainError(f"run {run.id} waits for run {result.waits_for}")
        active_run.run = result.run
        if result.verdict == "cancelled":
            active_run.cancel()

    async def conclude(
        self, turn: TurnFacts, records: Sequence[SessionRecord], turn_end: TurnEnd, emit: Emit, /
    ) -> bool:
        """See `TurnLog.conclude`. Also returns False if the run already has an outcome or the store has refused
        one, and True if the run holds the outcome until the store takes it.
        """
        active_run = self._active_runs.get(turn.run_id)
        if active_run is None or active_run.run is None:
            return await self._session_log.conclude(turn, records, turn_end, emit)
        if turn_end.status == "suspended":
            session_log = self._session_log if active_run.store is None else SessionLog(active_run.store)
            return await session_log.conclude(turn, records, turn_end, emit)
        if (
            active_run.is_elsewhere
            or active_run.outcome_write_failed
            or (turn_end.status == "cancelled" and not active_run.is_cancel_requested)
        ):
            return False
        if turn_end.status == "failed" and turn_end.error.get("code") == StoreUnavailable.code:
            active_run.outcome_write_failed = True
            return False
        try:
            return (await self._outcome_writer.write(active_run, active_run.run, records, turn_end)).is_first
        except StoreUnavailable:
            return True
        except (StaleRun, OutdatedRun):
            return False
        except Exception:
            active_run.outcome_write_failed = True
            if turn_end.status == "completed":
                raise
            log.exception("the outcome of run %s could not be recorded", turn.run_id)
            return False

    def claim(self, ctx: ClaimedTurn, /) -> AbstractAsyncContextManager[None]:
        """See `TurnLog.claim`. An active run has its fence, and the lease of its host."""
        active_run = self._active_runs.get(ctx.run_id)
        return self._session_log.claim(ctx) if active_run is None or active_run.run is None else nullcontext()

    async def record_usage(self, turn: TurnFacts, rows: Sequence[UsageRow], /) -> None:
        """See `TurnLog.record_usage`. That of an active run is written in the transaction of its outcome.

        What comes later is of jobs behind the answer, which begin before the run is released: it is written now.
        """
        active_run = self._active_runs.get(turn.run_id)
        if active_run is None or active_run.run is None or active_run.has_outcome:
            await self._session_log.record_usage(turn, rows)
        else:
            active_run.usage += rows


def begin_fence(active_run: ActiveRun, event_bus: EventBus) -> None:
    """Write from now on in the name of the start that the store has just begun."""
    run = active_run.run
    if run is not None:
        active_run.fence = RunFence(run.id, run.starts)
        event_bus.session(run.session_id).fence(active_run.fence, active_run.become_stale)


def subtract_usage(rows: Sequence[UsageRow], earlier: Sequence[UsageRow]) -> list[UsageRow]:
    """Return the usage of the rows without that of the earlier ones, which is part of it."""
    counts: dict[tuple[object, ...], UsageCounts] = {}
    for row in earlier:
        counts.setdefault(_usage_key(row), UsageCounts()).add(row.usage, row.calls)
    rest: list[UsageRow] = []
    for row in rows:
        had = counts.pop(_usage_key(row), UsageCounts())
        if row.calls > had.calls:
            rest.append(replace(row, usage=row.usage - had.to_usage(), calls=row.calls - had.calls))
    return rest


def _usage_key(row: UsageRow) -> tuple[object, ...]:
    return (row.period, row.provider, row.model, row.purpose)


def address_events(run: Run, events: Sequence[Event]) -> Sequence[Event]:
    """Set the ids of a run's events, and return them."""
    for event in events:
        event.session_id, event.task_id, event.run_id = run.session_id, run.id, run.id
    return events


def outcome_from_turn_end(end: TurnEnd) -> RunOutcome:
    """Return the run outcome for the end of a turn. Raises ValueError for a suspended turn, which has no outcome."""
    if end.status == "completed" and end.response is not None:
        return RunOutcome("completed", response=response_to_json(end.response))
    if end.status == "failed":
        error = RunError(end.error["code"], end.error["message"], end.error.get("id", ""))
        return RunOutcome("failed", response=_shown_to_json(end.response), error=error)
    if end.status == "cancelled":
        return RunOutcome("cancelled", response=_shown_to_json(end.response))
    raise ValueError(f"a turn that is {end.status} has no outcome")


def response_to_json(response: Response) -> dict[str, Any]:
    """Return a response as JSON for the run's row."""
    return {
        "text": response.full_text,
        "finish_reason": response.finish_reason,
        "usage": response.usage.to_json(),
        "detail": dict(response.detail),
        "tool_rounds": response.tool_rounds,
        "fallback_attempts": response.fallback_attempts,
        "model": response.model,
    }


def _shown_to_json(response: Response | None) -> dict[str, Any] | None:
    """Return what was shown of a turn that did not complete; None if that is nothing."""
    return response_to_json(response) if response is not None and response.text else None
