"""Traces of a host's runs: where a turn comes from, and what is stored of it with its outcome or suspension."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from sophon.context import Context
from sophon.context.turn_log import TurnEnd
from sophon.events import Event, event_from_wire
from sophon.stores.traces.sql import TraceStore, add_traces
from sophon.stores.unit_of_work import Write, WriteKind
from sophon.traces.trace import Trace
from sophon.traces.trace_context import TraceContext, derive_span_id, new_trace_id, parse_traceparent
from sophon_hosting.runs.active_runs import ActiveRun, ActiveRuns
from sophon_hosting.store.events.logged_event import LoggedEvent, merge_traces
from sophon_hosting.store.events.sql import EventLog
from sophon_hosting.store.runs.contract import Run
from sophon_middlewares.traces.trace import TraceOrigin, build_trace

TRACEPARENT_OPTION = "traceparent"
"""Option of a run: the header of who sent its message."""

PARENT_RUN_OPTION = "parent_run"
"""Option of a run: the id of the run that started it."""


MAX_LOGGED_EVENTS = 1000
"""Newest events of the session that are searched for those of earlier starts of the turn."""


def find_trace_origin(run: Run, now: datetime) -> TraceOrigin:
    """Return the origin of a run's turn. Its span has the same id in every start, also after a restart."""
    header = run.options.get(TRACEPARENT_OPTION)
    sender = parse_traceparent(header) if header else None
    trace_id = run.options.get("trace") or (sender.trace_id if sender is not None else new_trace_id())
    own = TraceContext(trace_id, derive_span_id(run.id), sender is None or sender.sampled)
    started = run.started_at or now
    queued = (started - run.created_at) / timedelta(milliseconds=1) if run.created_at is not None else 0
    parent = str(run.options.get(PARENT_RUN_OPTION) or "")
    return TraceOrigin(own, sender, max(round(queued), 0), parent)


async def load_logged_events(log: EventLog, run: Run) -> Sequence[tuple[datetime, Event]]:
    """Return the events of a run that are in the log, with their times, in order. Raises StoreError."""
    last = await log.last_seq(run.session_id)
    newest = await log.list_after(run.session_id, max(last - MAX_LOGGED_EVENTS, 0), MAX_LOGGED_EVENTS)
    own = merge_traces(
        [each for each in newest if each.task_id == run.id], await log.list_traces(run.session_id, run.id)
    )
    return [(each.at, event) for each in own if each.at is not None and (event := _parse(each)) is not None]


def _parse(logged: LoggedEvent) -> Event | None:
    """Return a logged event; None for one that this version does not know, or whose texts are stored elsewhere."""
    try:
        return event_from_wire(logged.name, logged.data)
    except TypeError:
        return None


def build_outcome_trace(ctx: Context, end: TurnEnd) -> Trace | None:
    """Return the trace of a turn that has this end; None if it is not recorded."""
    error = {name: end.error[name] for name in ("code", "message") if name in end.error}
    return build_trace(ctx, end.status, end.response.finish_reason if end.response is not None else "", error)


def build_live_trace(active_run: ActiveRun) -> Trace | None:
    """Return the trace of a running turn up to now; None if it is not recorded, or has not begun."""
    ctx = active_run.ctx
    if ctx is None or active_run.is_concluded:
        return None
    return build_trace(ctx, "running")


async def find_outcome_trace(
    active_run: ActiveRun, run: Run, end: TurnEnd, traces: TraceStore, now: datetime
) -> Trace | None:
    """Return the trace of a run that gets this outcome: of its turn, or the stored one of a turn that did not go on."""
    ctx = active_run.ctx
    if ctx is not None and ctx.recorder is not None:
        return build_outcome_trace(ctx, end)
    if run.status != "suspended" and run.starts < 2:
        return None  # nothing was stored
    stored = await traces.find(run.id)
    if stored is None:
        return None
    error = {name: end.error[name] for name in ("code", "message") if name in end.error}
    waited = max(round((now - stored.ended_at) / timedelta(milliseconds=1)), 0)
    changed = replace(stored, status=end.status, ended_at=now, waiting_ms=stored.waiting_ms + waited, error=error)
    return replace(changed, finish_reason=end.status if end.response is None else end.response.finish_reason)


def to_writes(trace: Trace | None) -> Sequence[Write]:
    """Return what is stored of a trace, in the transaction of the outcome."""
    return () if trace is None else [Write(WriteKind.TRACE, partial(add_traces, traces=[trace]))]


def record_approval(active_runs: ActiveRuns, event: Event) -> None:
    """Show the recorder of a running turn an event of the host about an approval."""
    active_run = active_runs.get(event.task_id)
    if active_run is not None and active_run.ctx is not None and active_run.ctx.recorder is not None:
        active_run.ctx.recorder.record(event)
