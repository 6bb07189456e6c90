"""Trace: records what a turn does, how long each stage takes, and how it ends."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.context.context import STAGE_TIMES
from sophon.errors import SophonError, StoreError
from sophon.events import Event
from sophon.extensions import Key
from sophon.failure_log import log_failure
from sophon.security import describe_error
from sophon.stores.contract import Store
from sophon.traces.recorder import MAX_ENTRIES, TracedTurn, TraceEnd, TraceRecorder
from sophon.traces.trace import Trace as TurnTrace
from sophon.traces.trace import TraceStatus
from sophon.traces.trace_context import TraceContext, derive_span_id, new_trace_id

log = logging.getLogger("sophon")

TraceSink: TypeAlias = Callable[[TurnTrace], None]
"""Receives the trace of a turn that has ended or waits for a person. Must not block; an exception is logged."""


LoadLogged: TypeAlias = Callable[[], Awaitable[Sequence[tuple[datetime, Event]]]]
"""Returns logged events of a run and their times, in order. Raises StoreError."""


async def load_nothing() -> Sequence[tuple[datetime, Event]]:
    """Return no events: without a host none are logged."""
    return ()


@dataclass(frozen=True, slots=True)
class TraceOrigin:
    """What a host knows of a run: its span, that of its sender, and how long it was queued.

    The host stores the trace with the outcome of the run. `load_logged` returns the events that it has logged in
    earlier starts of the run.
    """

    context: TraceContext
    sender: TraceContext | None = None
    queued_ms: int = 0
    parent_run_id: str = ""
    load_logged: LoadLogged = load_nothing


TRACE_ORIGIN: Key[TraceOrigin] = Key("trace.origin")


class Trace:
    """Records the turn, its plan steps included, for its trace.

    Outermost behind SessionEvents, so that it has ended when the end of the turn is recorded; SessionEvents itself is
    not timed. Each stage costs two readings of the clock. On a host the trace is stored in the transaction of the
    outcome. Elsewhere it is given to `sink`, by default stored when the turn has ended or waits for a person; what
    cannot be stored is logged. A resumed turn goes on with its stored trace, and with the events that were logged
    since. Of a turn off the record nothing is recorded. At most `MAX_ENTRIES` events are kept.
    """

    zone = "outer"
    unique = True
    calls_next = True
    outermost = True
    times_stages = True
    after = ("SessionEvents",)
    before = (
        *("Learning", "Scoring", "Classification", "DecisionLayer", "Budget", "CapabilityRouting", "Memory", "Skills"),
        *("ContextWindow", "ToolFilter", "PromptToolBridge", "Planning", "AgenticLoop", "LlmInvoker"),
    )
    acts = {"turn": "records stages, model attempts, tool calls and decisions for the trace"}

    def __init__(self, sink: TraceSink | None = None) -> None:
        self._sink = sink

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if ctx.depth or not ctx.services.learning.is_enabled:
            await next(ctx)
            return
        ctx.recorder, ctx.has_listeners = await open_recorder(ctx), True
        if self._sink is None and ctx.get(TRACE_ORIGIN) is not None:
            await next(ctx)  # the host builds the trace when it writes the outcome
            return
        try:
            await next(ctx)
        except (Exception, asyncio.CancelledError) as error:
            await self._keep(ctx, build_failure_trace(ctx, error))
            raise
        reason = ctx.response.finish_reason if ctx.response is not None else ""
        await self._keep(ctx, build_trace(ctx, "suspended" if reason == "suspended" else "completed", reason))

    async def _keep(self, ctx: Context, trace: TurnTrace | None) -> None:
        ctx.recorder = None
        if trace is None:
            return
        try:
            if self._sink is None:
                await ctx.services.store.traces.add([trace])
            else:
                self._sink(trace)
        except Exception as error:  # noqa: BLE001 - a trace that nobody takes must not end the turn
            log_failure(log, error, "the trace of run %s was not kept", ctx.run_id)


async def open_recorder(ctx: Context) -> TraceRecorder:
    """Return the recorder of a turn, with what is known of its earlier starts if it is resumed."""
    origin = ctx.get(TRACE_ORIGIN) or TraceOrigin(TraceContext(new_trace_id(), derive_span_id(ctx.run_id)))
    turn = TracedTurn(
        ctx.run_id,
        ctx.session_id,
        ctx.principal,
        ctx.channel,
        origin.queued_ms,
        origin.parent_run_id,
        origin.context,
        origin.sender,
    )
    if not ctx.resumed:
        return TraceRecorder(turn, ctx.services.clock)
    earlier, logged = await load_earlier_starts(ctx.services.store, ctx.run_id, origin.load_logged)
    return TraceRecorder(turn, ctx.services.clock, earlier=earlier, logged=logged)


async def load_earlier_starts(
    store: Store, run_id: str, load_logged: LoadLogged
) -> tuple[TurnTrace | None, Sequence[tuple[datetime, Event]]]:
    """Return the stored trace of a run, and the newest `MAX_ENTRIES` events of the run that were logged after it."""
    try:
        earlier, logged = await store.traces.find(run_id), await load_logged()
    except StoreError as error:
        log_failure(log, error, "earlier starts of run %s are not in its trace", run_id)
        return None, ()
    later = [(at, event) for at, event in logged if earlier is None or at > earlier.ended_at]
    return earlier, later[-MAX_ENTRIES:]


def build_trace(
    ctx: Context, status: TraceStatus, finish_reason: str = "", error: Mapping[str, str] | None = None
) -> TurnTrace | None:
    """Return the trace of a turn up to now, with this end; None if it is not recorded, or its trace cannot be built."""
    if ctx.recorder is None:
        return None
    registry, metered = ctx.services.registry, ctx.tally.metered

    def find_risk(name: str) -> str:
        tool = registry.get(name)
        return "" if tool is None else tool.risk.name.lower()

    end = TraceEnd(
        status=status,
        active_seconds=ctx.stopwatch.seconds,
        finish_reason=finish_reason,
        error=error or {},
        iterations=ctx.iteration,
        usage=metered.to_usage() if metered.calls else None,
    )
    try:
        times = ctx.get(STAGE_TIMES)
        return ctx.recorder.build(end, find_risk=find_risk, redact=ctx.redactor, stage_times=times)
    except Exception:
        log.exception("the trace of run %s could not be built", ctx.run_id)
        return None


def build_failure_trace(ctx: Context, error: BaseException) -> TurnTrace | None:
    """Return the trace of a turn that raised, as `build_trace` does."""
    if not isinstance(error, Exception):
        return build_trace(ctx, "cancelled", "cancelled")
    code = error.code if isinstance(error, SophonError) else "internal"
    return build_trace(ctx, "failed", "error", {"code": code, "message": describe_error(error)})
