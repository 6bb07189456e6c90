"""Published stage: where a stage of a published pipeline begins that several middlewares make up, timed and traced."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.context.context import STAGE_TIMES
from sophon.events import Stage
from sophon.traces.published_stages import (
    CANCELLED,
    DURATION_FIELD,
    FAILED,
    OK,
    SUSPENDED,
    StageRow,
    StageTimes,
    describe_outcome,
)
from sophon.turn.stage_events import emit_stage


class PublishedStage:
    """Begins a stage on the way in, which ends the one before it; with `leaves` on the way out, once what stands behind
    has ended. The innermost one ends on the way out, too.

    When a stage ends it emits `stage_completed`, unless the turn was cancelled. Data: `started_at`, `duration_ms` and
    `outcome` (`ok`, `failed`, `suspended`) of the stage, and on the way in the number of `messages` and `tools`, on the
    way out `tool_rounds`, `fallback_attempts` and `finish_reason`. The trace has the stage with the time of all its
    parts: that of the window's call layer, for example, which acts within another stage. A plan step has no stages.
    """

    zone = "outer"
    calls_next = True
    is_timed = False  # as a stage, not as a middleware
    after = ("SessionEvents",)
    before = ("AgenticLoop", "LlmInvoker")

    def __init__(self, stage: Stage, *, leaves: bool = False) -> None:
        self._stage: Stage = stage
        self._leaves = leaves
        self.acts: Mapping[str, str] = {"turn": f"{stage} begins here{', on the way out' if leaves else ''}"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if ctx.depth:
            await next(ctx)
            return
        times = _find_times(ctx)
        row = None if self._leaves else self._begin(ctx, times)
        try:
            await next(ctx)
        except (Exception, asyncio.CancelledError) as error:
            self._end(ctx, times, row, describe_outcome(error))
            raise
        is_suspended = ctx.response is not None and ctx.response.finish_reason == "suspended"
        self._end(ctx, times, row, SUSPENDED if is_suspended else OK)

    def _begin(self, ctx: Context, times: StageTimes) -> StageRow:
        last = times.current
        if last is not None and last.is_open:
            seconds = times.conclude(last, OK)
            _emit(ctx, last, seconds, messages=len(ctx.messages), tools=len(ctx.tools))
        return times.begin(self._stage)

    def _end(self, ctx: Context, times: StageTimes, row: StageRow | None, outcome: str) -> None:
        """End the stage on the way out; one on the way in has ended already if another one began after it."""
        if row is None:
            row = times.begin(self._stage, leaves=True)
        elif row is not times.current or not row.is_open:
            return
        seconds = times.conclude(row, outcome)
        if outcome != CANCELLED:
            reason = "error" if ctx.response is None or outcome == FAILED else ctx.response.finish_reason
            rounds, attempts = ctx.tally.tool_rounds, ctx.tally.fallback_attempts
            _emit(ctx, row, seconds, tool_rounds=rounds, fallback_attempts=attempts, finish_reason=reason)


def _find_times(ctx: Context) -> StageTimes:
    times = ctx.get(STAGE_TIMES)
    if times is None:
        stopwatch, clock = ctx.stopwatch, ctx.services.clock
        times = StageTimes(lambda: stopwatch.seconds, clock.monotonic, initial_seconds=stopwatch.initial_seconds)
        ctx.put(STAGE_TIMES, times)
    return times


def _emit(ctx: Context, row: StageRow, seconds: float, **data: Any) -> None:
    if not ctx.has_listeners:
        return
    clock = ctx.services.clock
    started = clock.now() - timedelta(seconds=clock.monotonic() - row.started)
    times = {"started_at": started.isoformat(), DURATION_FIELD: round(seconds * 1000, 3), "outcome": row.outcome}
    emit_stage(ctx, row.stage, **times, **data)
