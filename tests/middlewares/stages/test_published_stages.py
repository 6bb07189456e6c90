"""The six stages of clawdesk in events and traces: start, self time and outcome, of turns that end, fail and resume."""

import asyncio
import json
from datetime import datetime, timedelta

import pytest

from sophon import Context, Decision, ModelRequest, ModelResponse, Pipeline, Risk, Services, ToolCall, tool
from sophon.approvals import ApprovalRequest
from sophon.chain.pipeline import Next
from sophon.errors import ProviderUnavailable, RateLimited
from sophon.events import Event, Stage, StageCompleted, TaskStarted
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon.traces.published_stages import StageTimes
from sophon.traces.recorder import TracedTurn, TraceEnd, TraceRecorder
from sophon.traces.trace import Trace as TurnTrace
from sophon.traces.trace_context import TraceContext
from sophon_middlewares import ContextWindow, PublishedStage
from sophon_middlewares.chains import clawdesk

STAGES = ["auth_resolve", "history_sanitize", "context_guard", "tool_split", "execute", "failover_decide"]


@tool(risk=Risk.HIGH)
async def pay(to: str) -> str:
    """Pay."""
    return "paid"


class Gate:
    """Gate that answers as told, `seconds` after it was asked."""

    def __init__(self, clock: VirtualClock, decision: Decision, seconds: float = 0.0) -> None:
        self.clock, self.decision, self.seconds = clock, decision, seconds

    async def request(self, request: ApprovalRequest, /) -> Decision:
        await self.clock.sleep(self.seconds)
        return self.decision


def stages_of(trace: TurnTrace) -> dict[str, tuple[float, float, str]]:
    """Return start and own time in seconds, and the outcome, of each published stage."""
    found = [each for each in trace.stages if each.zone == "published"]
    return {each.name: (each.start_ms / 1000, each.own_ms / 1000, each.outcome) for each in found}


def own_times(trace: TurnTrace) -> float:
    return sum(own for _, own, _ in stages_of(trace).values())


def with_delay(chain: Pipeline, behind: type, at: int, clock: VirtualClock, seconds: float) -> Pipeline:
    """Return the chain with a middleware that takes `seconds`, behind the `at`th one of a class."""

    async def delay(ctx: Context, next: Next) -> None:
        await clock.sleep(seconds)
        await next(ctx)

    parts = list(chain)
    place = [index for index, each in enumerate(parts) if isinstance(each, behind)][at]
    return Pipeline.compose(*parts[: place + 1], delay, *parts[place + 1 :])


async def run(pipeline: Pipeline, ctx: Context) -> TurnTrace:
    await pipeline.run(ctx)
    [trace] = await ctx.services.store.traces.list()
    return trace


async def test_each_stage_has_its_own_time_and_together_they_are_the_turn() -> None:
    clock, events = VirtualClock(), EventRecorder()

    async def answer(request: ModelRequest) -> str:
        await clock.sleep(8)
        return "done"

    services = Services(models=FunctionModel(answer), clock=clock, events=events)
    pipeline = clawdesk(services)
    for at, seconds in ((0, 1), (2, 2), (3, 4)):
        pipeline = with_delay(pipeline, PublishedStage, at, clock, seconds)
    trace = await run(pipeline, services.turn("hello", session_id="s"))

    assert stages_of(trace) == {
        "auth_resolve": (0, 1, "ok"),
        "history_sanitize": (1, 0, "ok"),
        "context_guard": (1, 2, "ok"),
        "tool_split": (3, 4, "ok"),
        "execute": (7, 8, "ok"),
        "failover_decide": (15, 0, "ok"),
    }
    assert trace.working_ms == 15_000
    assert "PublishedStage" not in {each.name for each in trace.stages}
    started = clock.now() - timedelta(seconds=15)
    assert [(each.stage, each.data["duration_ms"], each.data["outcome"]) for each in events.of(StageCompleted)] == [
        *(("auth_resolve", 1000, "ok"), ("history_sanitize", 0, "ok"), ("context_guard", 2000, "ok")),
        *(("tool_split", 4000, "ok"), ("execute", 8000, "ok"), ("failover_decide", 0, "ok")),
    ]
    assert events.of(StageCompleted)[4].data["started_at"] == (started + timedelta(seconds=7)).isoformat()


async def test_what_is_done_within_a_model_call_counts_to_its_own_stage() -> None:
    clock = VirtualClock()
    failures: list[Exception] = [RateLimited("slow down", provider="f", model="m", retry_after=3)]

    async def answer(request: ModelRequest) -> str:
        if request.purpose == "compaction":
            await clock.sleep(5)
            return "a summary"
        await clock.sleep(1)
        if failures:
            raise failures.pop()
        return "word " * 2000

    services = Services(models=FunctionModel(answer, context_window=12_000), clock=clock)
    pipeline = clawdesk(services)
    for number in range(9):
        await pipeline.run(services.turn(f"question {number}", session_id="s"))
    traces = await services.store.traces.list()
    first, compacted = (
        traces[-1],
        next(each for each in traces if any(a.purpose == "compaction" for a in each.attempts)),
    )

    assert stages_of(first)["failover_decide"][1:] == (3, "ok"), "the wait for the rate limit"
    assert stages_of(first)["execute"][1:] == (2, "ok"), "two attempts"
    assert stages_of(compacted)["context_guard"][1:] == (5, "ok"), "the summary"
    assert stages_of(compacted)["execute"][1:] == (1, "ok")
    assert all(own_times(each) == each.working_ms / 1000 for each in traces)


async def test_the_stage_that_fails_says_so_and_what_did_not_begin_is_missing() -> None:
    async def fail(request: ModelRequest) -> str:
        raise ProviderUnavailable("down", provider="f", model="m")

    async def broken(ctx: Context, next: Next) -> None:
        raise ValueError("broken")

    events = EventRecorder()
    services = Services(models=FunctionModel(fail), clock=VirtualClock(), events=events)
    with pytest.raises(ProviderUnavailable):
        await clawdesk(services).run(services.turn("hello", session_id="s"))
    parts = list(clawdesk(services))
    window = next(index for index, each in enumerate(parts) if isinstance(each, ContextWindow))
    with pytest.raises(ValueError, match="broken"):
        await Pipeline.compose(*parts[:window], broken, *parts[window:]).run(services.turn("hello", session_id="s"))
    second, first = await services.store.traces.list()

    assert [outcome for _, _, outcome in stages_of(first).values()] == [*["ok"] * 4, "failed", "failed"]
    assert own_times(first) == pytest.approx(first.working_ms / 1000, abs=0.001)
    assert [*stages_of(second)] == STAGES[:3]
    assert [outcome for _, _, outcome in stages_of(second).values()] == ["ok", "ok", "failed"]
    assert [each.stage for each in events.of(StageCompleted)] == [*STAGES, *STAGES[:3]]


async def test_a_cancelled_turn_was_cancelled_in_its_stage() -> None:
    clock = VirtualClock(auto=False)

    async def answer(request: ModelRequest) -> str:
        await clock.sleep(60)
        return "never"

    services = Services(models=FunctionModel(answer), clock=clock)
    running = asyncio.create_task(clawdesk(services).run(services.turn("hello", session_id="s")))
    await clock.advance(5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    [trace] = await services.store.traces.list()
    assert (trace.status, stages_of(trace)["execute"]) == ("cancelled", (0, 5, "cancelled"))
    assert trace.attempts[0].outcome == "cancelled"


def paying(clock: VirtualClock, decision: Decision, seconds: float = 0.0) -> tuple[Services, Gate]:
    async def answer(request: ModelRequest) -> ModelResponse:
        await clock.sleep(1)
        is_done = any(each.role == "tool" for each in request.messages)
        return ModelResponse("done" if is_done else "", [] if is_done else [ToolCall("c1", "pay", {"to": "bob"})])

    gate = Gate(clock, decision, seconds)
    return Services(models=FunctionModel(answer), tools=[pay], approvals=gate, clock=clock), gate


async def test_waiting_for_a_person_belongs_to_no_stage() -> None:
    services, _ = paying(VirtualClock(), Decision.approve(), seconds=100)
    trace = await run(clawdesk(services), services.turn("pay", session_id="s"))
    assert (trace.working_ms, trace.waiting_ms) == (2000, 100_000)
    assert own_times(trace) == 2


async def test_a_resumed_turn_has_the_times_of_both_starts() -> None:
    clock = VirtualClock()
    services, gate = paying(clock, Decision.suspend())
    pipeline, ctx = clawdesk(services), services.turn("pay", session_id="s")
    waiting = await run(pipeline, ctx)
    assert stages_of(waiting)["execute"] == (0, 1, "suspended")
    assert (waiting.status, waiting.finish_reason) == ("suspended", "suspended")
    state = json.loads(json.dumps(ctx.state()))
    await clock.sleep(60)
    gate.decision = Decision.approve()
    trace = await run(pipeline, services.restore(state))

    assert (trace.working_ms, trace.waiting_ms) == (2000, 60_000)
    assert (trace.status, len(trace.attempts)) == ("completed", 2)
    assert [each.end for each in trace.starts] == ["suspended", "ended"]
    assert stages_of(trace)["execute"] == (0, 2, "ok")
    assert own_times(trace) == 2


async def test_a_start_whose_process_was_killed_counts_to_its_stages() -> None:
    clock = VirtualClock()
    began = clock.now()

    def completed(stage: Stage, milliseconds: float) -> Event:
        data = {"started_at": "", "duration_ms": milliseconds, "outcome": "ok"}
        return StageCompleted(run_id="r", stage=stage, data=data)

    logged: list[tuple[datetime, Event]] = [
        (began, TaskStarted(run_id="r")),
        (began + timedelta(seconds=1), completed("auth_resolve", 1000.0)),
        (began + timedelta(seconds=3), completed("tool_split", 2000.0)),
    ]
    await clock.sleep(20)
    turn = TracedTurn("r", "s", "ada", "hub", context=TraceContext("1" * 32, "2" * 16))
    recorder = TraceRecorder(turn, clock, logged=logged)
    base = clock.monotonic()
    times = StageTimes(lambda: 7 + clock.monotonic() - base, clock.monotonic, initial_seconds=7)  # of the checkpoint
    stages: tuple[Stage, ...] = ("auth_resolve", "tool_split", "execute")
    for stage in stages:
        row = times.begin(stage)
        await clock.sleep(4 if stage == "execute" else 0)
        times.conclude(row, "ok")
    trace = recorder.build(TraceEnd(status="completed", active_seconds=11), stage_times=times)

    assert stages_of(trace) == {"auth_resolve": (0, 1, "ok"), "tool_split": (1, 2, "ok"), "execute": (3, 8, "ok")}
    assert own_times(trace) == trace.working_ms / 1000
