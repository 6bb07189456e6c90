"""Recorder of one turn: keeps its events and the times of its stages, and folds them into a trace when it ends."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.clock import Clock
from sophon.events import Event, StageCompleted
from sophon.messages import Usage
from sophon.traces.event_folding import TimedEvent, TraceFolder
from sophon.traces.published_stages import DURATION_FIELD, PUBLISHED_ZONE, StageTimes
from sophon.traces.trace import StageTime, StartTrace, Trace, TraceStatus
from sophon.traces.trace_context import TraceContext

MAX_ENTRIES: Final = 1000
"""Events of one turn that its trace keeps: a turn of 500 tool calls; the rest is counted."""

_MILLISECOND = timedelta(milliseconds=1)


@dataclass(slots=True, eq=False)
class StageFrame:
    """A middleware that is running: when it began, the seconds of those inside it, and whether it has called any."""

    started: float
    inner_seconds: float = 0.0
    has_called_next: bool = False


@dataclass(slots=True, eq=False)
class _Row:
    start: float
    calls: int = 0
    total: float = 0.0
    own: float = 0.0
    outcome: str = "passed"


class StageClock:
    """Sums of the times of the stages of one turn, by depth and name."""

    __slots__ = ("_now", "_rows", "_started")

    def __init__(self, now: Callable[[], float], started: float) -> None:
        self._now, self._started = now, started
        self._rows: dict[tuple[int, str, str], _Row] = {}

    def enter(self) -> StageFrame:
        """Return the frame of a middleware that begins now."""
        return StageFrame(self._now())

    def leave(
        self,
        name: str,
        zone: str,
        depth: int,
        frame: StageFrame,
        outer: StageFrame | None,
        error: BaseException | None = None,
    ) -> None:
        """Add a call of a middleware that has ended now, with an error or without."""
        took = self._now() - frame.started
        if outer is not None:
            outer.inner_seconds += took
            outer.has_called_next = True
        row = self._rows.get((depth, name, zone))
        if row is None:
            row = self._rows[depth, name, zone] = _Row(frame.started)
        row.calls += 1
        row.total += took
        row.own += took - frame.inner_seconds
        if error is None:
            row.outcome = "passed" if frame.has_called_next else "ended"
        else:
            row.outcome = describe_outcome(error)

    def to_stages(self) -> tuple[StageTime, ...]:
        """Return the stages in the order in which they first began.

        Stages that run beside each other take more time together than the one around them, whose own time is then 0.
        """
        stages = [
            StageTime(
                name,
                zone,
                depth,
                row.calls,
                to_ms(row.start - self._started),
                to_ms(row.total),
                max(to_ms(row.own), 0.0),
                row.outcome,
            )
            for (depth, name, zone), row in self._rows.items()
        ]
        return tuple(sorted(stages, key=attrgetter("depth", "start_ms")))


def describe_outcome(error: BaseException) -> str:
    """Return the outcome of a stage that raised."""
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return str(getattr(error, "code", "internal"))


def to_ms(seconds: float) -> float:
    """Return milliseconds with three decimals."""
    return round(seconds * 1000, 3)


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """What a trace says of the turn itself. `context` is its own span, `sender` that of who sent the message."""

    run_id: str
    session_id: str
    principal: str
    channel: str
    queued_ms: int = 0
    parent_run_id: str = ""
    context: TraceContext | None = None
    sender: TraceContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEnd:
    """How a start of the turn ended.

    `active_seconds` is the time that the turn has worked over all its starts, `usage` that of all its attempts; None:
    the sum of those that the trace has.
    """

    status: TraceStatus
    active_seconds: float
    finish_reason: str = ""
    error: Mapping[str, str] = field(default_factory=new_dict)
    iterations: int = 0
    usage: Usage | None = None


class TraceRecorder:
    """Records one start of a turn; events above `MAX_ENTRIES` are counted only.

    `earlier` is the stored trace of earlier starts, `logged` are the events that followed it, with their times.
    """

    __slots__ = (
        "_earlier",
        "_entries",
        "_left_out",
        "_logged",
        "_max",
        "_now",
        "_offset_ms",
        "_started",
        "_started_at",
        "stages",
        "turn",
    )

    def __init__(
        self,
        turn: TracedTurn,
        clock: Clock,
        *,
        earlier: Trace | None = None,
        logged: Sequence[tuple[datetime, Event]] = (),
    ) -> None:
        self.turn, self._earlier = turn, earlier
        now = clock.now()
        first = min((at for at, _ in logged), default=now)
        self._started_at = min(first, now) if earlier is None else earlier.started_at
        self._offset_ms = (now - self._started_at) / _MILLISECOND
        self._logged: list[TimedEvent] = [
            (max((at - self._started_at) / _MILLISECOND, 0.0), event) for at, event in logged
        ]
        self._now = clock.monotonic
        self._started = clock.monotonic()
        self._entries: list[tuple[float, Event]] = []
        self._left_out = 0
        self.stages = StageClock(clock.monotonic, self._started)
        """The times of the middlewares."""

    def record(self, event: Event) -> None:
        """Keep an event of the turn; never raises."""
        if not event.in_trace:
            return
        if len(self._entries) < MAX_ENTRIES:
            self._entries.append((self._now(), event))
        else:
            self._left_out += 1

    def build(
        self,
        end: TraceEnd,
        *,
        find_risk: Callable[[str], str] = lambda _: "",
        redact: Callable[[str], str] | None = None,
        stage_times: StageTimes | None = None,
    ) -> Trace:
        """Return the trace up to now; the recorder may go on."""
        turn, earlier = self.turn, self._earlier
        elapsed_ms = self._offset_ms + to_ms(self._now() - self._started)
        folder = TraceFolder(earlier, find_risk=find_risk, redact=redact)
        folder.fold(self._logged)
        began, offset_ms = self._started, self._offset_ms
        folder.fold((round(offset_ms + (at - began) * 1000, 3), event) for at, event in self._entries)
        start = StartTrace(self._offset_ms, elapsed_ms, "suspended" if end.status == "suspended" else "ended")
        own = turn.context
        return Trace(
            run_id=turn.run_id,
            session_id=turn.session_id,
            principal=turn.principal,
            channel=turn.channel,
            started_at=self._started_at,
            ended_at=self._started_at + timedelta(milliseconds=elapsed_ms),
            status=end.status,
            trace_id=own.trace_id if own is not None else "",
            span_id=own.span_id if own is not None else "",
            parent_span_id=turn.sender.span_id if turn.sender is not None else "",
            parent_run_id=turn.parent_run_id,
            finish_reason=end.finish_reason,
            error=end.error,
            queued_ms=turn.queued_ms,
            working_ms=round(end.active_seconds * 1000),
            waiting_ms=max(round(elapsed_ms - end.active_seconds * 1000), 0),
            usage=folder.sum_usage() if end.usage is None else end.usage,
            iterations=end.iterations,
            starts=(*self._earlier_starts(), start),
            stages=self._list_stages(stage_times, end.active_seconds),
            attempts=tuple(folder.attempts),
            tools=tuple(folder.tools.values()),
            approvals=tuple(folder.approvals.values()),
            steps=tuple(folder.steps.values()),
            agents=tuple(folder.agents.values()),
            prompt=tuple(folder.prompt),
            notes=tuple(folder.notes),
            left_out=self._left_out + (0 if earlier is None else earlier.left_out),
        )

    def _list_stages(self, times: StageTimes | None, active_seconds: float) -> tuple[StageTime, ...]:
        """Return the times of all starts, of middlewares and of published stages."""
        if times is None and self._earlier is None and not self._offset_ms:
            return self.stages.to_stages()
        earlier = () if self._earlier is None else self._earlier.stages
        if times is None:
            return _merge_stages(earlier, self.stages.to_stages(), self._offset_ms)
        published = [
            StageTime(
                row.stage,
                PUBLISHED_ZONE,
                calls=row.entries,
                start_ms=max(to_ms(row.started - self._started), 0.0),
                total_ms=to_ms(row.seconds),
                own_ms=to_ms(row.seconds),
                outcome=row.outcome or "running",
            )
            for row in times.collect(active_seconds)
        ]
        before = _merge_stages(earlier, list_interrupted(earlier, self._logged, times), 0.0)
        return _merge_stages(before, (*published, *self.stages.to_stages()), self._offset_ms)

    def _earlier_starts(self) -> tuple[StartTrace, ...]:
        """Return the earlier starts; one of which only the logged events are known was interrupted."""
        known = () if self._earlier is None else self._earlier.starts
        after = known[-1].end_ms if known else 0.0
        if not self._logged or (known and known[-1].end == "suspended" and not self._has_worked_since(after)):
            return known
        return (*known, StartTrace(self._logged[0][0], self._logged[-1][0], "interrupted"))

    def _has_worked_since(self, at_ms: float) -> bool:
        """Return whether the logged events are more than the decisions that a suspended turn waited for."""
        return any(at > at_ms and not event.wire_name.startswith("approval_") for at, event in self._logged)


def _merge_stages(earlier: Sequence[StageTime], later: Sequence[StageTime], offset_ms: float) -> tuple[StageTime, ...]:
    """Return the sums of the times of all starts."""
    merged = {(each.depth, each.name, each.zone): each for each in earlier}
    for each in later:
        key = (each.depth, each.name, each.zone)
        known = merged.get(key)
        merged[key] = StageTime(
            each.name,
            each.zone,
            each.depth,
            each.calls + (0 if known is None else known.calls),
            round(each.start_ms + offset_ms, 3) if known is None else known.start_ms,
            round(each.total_ms + (0 if known is None else known.total_ms), 3),
            round(each.own_ms + (0 if known is None else known.own_ms), 3),
            each.outcome,
        )
    return tuple(merged.values())


def list_interrupted(
    earlier: Sequence[StageTime], logged: Sequence[tuple[float, Event]], times: StageTimes
) -> Sequence[StageTime]:
    """Return the stages of a start whose process ended, which left no trace.

    Those that had ended are in its `logged` events, with milliseconds from the start of the turn; the rest of its time
    belongs to the innermost stage, in which all checkpoints are taken.
    """
    known = {each.name: each for each in earlier if each.zone == PUBLISHED_ZONE}
    ended = [(at, event) for at, event in logged if isinstance(event, StageCompleted) and DURATION_FIELD in event.data]
    found = [_to_stage(at, event.stage, event.data[DURATION_FIELD], event.data["outcome"]) for at, event in ended]
    missing = times.initial_seconds * 1000 - sum(each.own_ms for each in (*known.values(), *found))
    if times.innermost is not None and missing >= 0.001:
        stage = times.innermost.stage
        began = known[stage].start_ms if stage in known else max((at for at, _ in ended), default=0.0)
        found.append(StageTime(stage, PUBLISHED_ZONE, 0, 1, began, missing, missing, "interrupted"))
    return found


def _to_stage(at: float, stage: str, duration: float, outcome: str) -> StageTime:
    return StageTime(stage, PUBLISHED_ZONE, 0, 1, max(at - duration, 0.0), duration, duration, outcome)
