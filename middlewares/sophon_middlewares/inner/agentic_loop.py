"""Repeats the inner chain until a reply asks for no tool, or a limit is met."""

from dataclasses import dataclass, replace

from sophon.context import Context
from sophon.events import AgentStatus, LoopWarning, Progress
from sophon.extensions import Key
from sophon.messages import Message, Response, ToolCall
from sophon.pipeline import Next
from sophon_middlewares.inner.loop_detector import LoopDetector, LoopLimits

PROGRESS_EVERY = 10
"""Rounds between two Progress events. Source: reference/sophon.md 5.8."""


@dataclass(slots=True)
class Judgement:
    """What the detector said of one round's calls: warnings by call id, and the last refusal."""

    iteration: int
    warnings: dict[str, str]
    refusal: str = ""


JUDGEMENT: Key[Judgement] = Key(
    "agentic_loop.judgement",
    dump=lambda judged: [judged.iteration, judged.warnings, judged.refusal],
    load=lambda data: Judgement(*data),
)
DETECTOR: Key[LoopDetector] = Key("agentic_loop.detector", dump=LoopDetector.to_json, load=LoopDetector.from_json)


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """`max_iterations` is in rounds of tool calls; None for the settings' (100, never above the hard limit of 500)."""

    max_iterations: int | None = None
    limits: LoopLimits | None = None


class AgenticLoop:
    """A model pass, then settling pass and model pass by turns, until a reply has no calls.

    `ctx.settling` tells the two apart. The loop detector warns the model in a call's result, refuses a call that goes
    in circles, and ends the turn (`loop_detected`) after three refusals. At the iteration cap one last reply without
    tools sums up (`max_iterations`). A call that waits for a person ends the turn as `suspended`; a resumed turn goes
    on with that call. A middleware that sets `ctx.response` in a settling pass ends the turn.
    """

    zone = "inner"
    unique = True
    before = ("ParallelExecution", "Approval", "ToolExecution", "LlmInvoker")
    acts = {
        "turn": "repeats the inner chain until a reply has no tool calls; stops circles and endless runs",
        "tool batch": "puts the results behind their calls, a warning of the loop detector with them",
    }

    def __init__(self, *, options: LoopOptions | None = None) -> None:
        self._options = options or LoopOptions()

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not (ctx.resumed and open_calls(ctx)):
            await _think(ctx, next)
        if not open_calls(ctx):
            return
        detector, most = _detector(ctx, self._options), cap(ctx, self._options)
        while calls := open_calls(ctx):
            if not await _settle(ctx, next, detector, calls):
                return
            if ctx.iteration >= most:
                await _sum_up(ctx, next)
                return
            await _think(ctx, next)


def open_calls(ctx: Context) -> list[ToolCall]:
    """The calls of the last reply, while their results are not behind it."""
    return ctx.messages[-1].tool_calls if ctx.messages else []


def cap(ctx: Context, options: LoopOptions) -> int:
    """Rounds of tool calls that the turn may have."""
    settings = ctx.settings.agent_execution
    wanted = settings.max_tool_iterations if options.max_iterations is None else options.max_iterations
    return min(wanted, settings.max_tool_iterations_hard_limit)


def _detector(ctx: Context, options: LoopOptions) -> LoopDetector:
    """The turn's detector, made with its first round of calls."""
    detector = ctx.get(DETECTOR)
    if detector is None:
        detector = LoopDetector(options.limits)
        ctx.put(DETECTOR, detector)
    return detector


async def _think(ctx: Context, next: Next) -> None:
    if ctx.observed:
        ctx.emit(AgentStatus(status="thinking"))
    await next(ctx)


async def _settle(ctx: Context, next: Next, detector: LoopDetector, calls: list[ToolCall]) -> bool:
    """One settling pass; False if the turn ends with it."""
    judged = _judge(ctx, detector)
    ctx.waiting.clear()
    ctx.response = None
    if not detector.exhausted:
        await _pass(ctx, next)
    if ctx.pending and not detector.exhausted and ctx.response is None:
        ctx.response = Response(waiting_for(ctx.pending), "suspended", tool_calls=list(ctx.pending))
        return False
    _append_results(ctx, detector, calls, judged.warnings)
    if detector.exhausted:
        ctx.response = Response(f"I stopped because I was going in circles: {judged.refusal}", "loop_detected")
    return ctx.response is None


async def _pass(ctx: Context, next: Next) -> None:
    if ctx.observed:
        ctx.emit(AgentStatus(status="calling_tool", detail=", ".join(call.name for call in ctx.pending)))
    ctx.settling = True
    try:
        await next(ctx)
    finally:
        ctx.settling = False


def _judge(ctx: Context, detector: LoopDetector) -> Judgement:
    """Ask the detector about every call of the round, once even if the turn was suspended in it; refuse circles."""
    judged = ctx.get(JUDGEMENT)
    if judged is not None and judged.iteration == ctx.iteration:
        return judged
    judged = Judgement(ctx.iteration, {})
    for call in list(ctx.pending):
        verdict = detector.check(call)
        if verdict.level == "none":
            continue
        ctx.emit(
            LoopWarning(
                level=verdict.level,
                pattern=verdict.pattern,
                tool=call.name,
                count=verdict.count,
                detail=verdict.message,
            )
        )
        if verdict.runs:
            judged.warnings[call.id] = verdict.message
        else:
            judged.refusal = verdict.message
            ctx.settle(call, f"error: {verdict.message}", "denied")
    ctx.put(JUDGEMENT, judged)
    return judged


def _append_results(ctx: Context, detector: LoopDetector, calls: list[ToolCall], warnings: dict[str, str]) -> None:
    for call in ctx.pending:
        ctx.settle(call, "error: not run, because the turn ended", "discarded")
    for call in calls:
        text = ctx.results[call.id].text
        detector.record(call, text)
        if call.id in warnings:
            text = f"{text}\n\nwarning: {warnings[call.id]}"
        ctx.messages.append(Message("tool", text, tool_call_id=call.id))
    ctx.results = {}
    ctx.iteration += 1
    if ctx.iteration % PROGRESS_EVERY == 0:
        ctx.emit(Progress(iteration=ctx.iteration, tool_calls=ctx.tally.tool_calls, usage=ctx.tally.usage))


async def _sum_up(ctx: Context, next: Next) -> None:
    ctx.tools_allowed = False
    await _think(ctx, next)
    if ctx.response is not None:
        ctx.response = replace(ctx.response, finish_reason="max_iterations", detail={"iterations": ctx.iteration})


def waiting_for(calls: list[ToolCall]) -> str:
    """What a suspended turn says meanwhile."""
    return f"Waiting for approval: {', '.join(call.name for call in calls)}."
