"""Agentic loop: repeats the inner chain until a reply has no tool calls, or a limit is reached."""

from dataclasses import dataclass, replace

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.events import AgentStatus, LoopWarning, Progress
from sophon.extensions import Key
from sophon.messages import Message, Response, ToolCall
from sophon_middlewares.inner.loop_detector import LoopDetector, LoopLimits

PROGRESS_INTERVAL = 10
"""Rounds between two Progress events. Source: reference/sophon.md 5.8."""


@dataclass(slots=True)
class RoundVerdict:
    """Loop detector results for one round: warnings by call id, and the last refusal."""

    iteration: int
    warnings: dict[str, str]
    refusal: str = ""


ROUND_VERDICT: Key[RoundVerdict] = Key(
    "agentic_loop.judgement",
    dump=lambda judged: [judged.iteration, judged.warnings, judged.refusal],
    load=lambda data: RoundVerdict(*data),
)
DETECTOR: Key[LoopDetector] = Key("agentic_loop.detector", dump=LoopDetector.to_json, load=LoopDetector.from_json)


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """`max_iterations` is in rounds of tool calls; None for the settings' (100, never above the hard limit of 500)."""

    max_iterations: int | None = None
    limits: LoopLimits | None = None


class AgenticLoop:
    """Runs a model pass, then alternates settling pass and model pass, until a reply has no calls.

    `ctx.settling` distinguishes the passes. The loop detector adds a warning to a call's result, refuses a call that
    repeats without progress, and ends the turn (`loop_detected`) after three refusals. At the iteration limit one last
    reply without tools concludes (`max_iterations`). A call that waits for approval ends the turn as `suspended`; a
    resumed turn continues with that call. A middleware that sets `ctx.response` in a settling pass ends the turn.
    """

    zone = "inner"
    unique = True
    before = ("ParallelExecution", "Approval", "ToolExecution", "LlmInvoker")
    acts = {
        "turn": "repeats the inner chain until a reply has no tool calls; stops loops and endless runs",
        "tool batch": "appends the tool results to the messages, in call order, with any warning of the loop detector",
    }

    def __init__(self, *, options: LoopOptions | None = None) -> None:
        self._options = options or LoopOptions()

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not (ctx.resumed and list_unanswered_calls(ctx)):
            await _run_model_pass(ctx, next)
        if not list_unanswered_calls(ctx):
            return
        detector, most = _get_detector(ctx, self._options), iteration_limit(ctx, self._options)
        while calls := list_unanswered_calls(ctx):
            if not await _settle_round(ctx, next, detector, calls):
                return
            if ctx.iteration >= most:
                await _conclude(ctx, next)
                return
            await _run_model_pass(ctx, next)


def list_unanswered_calls(ctx: Context) -> list[ToolCall]:
    """Return the calls of the last reply while it has no results yet."""
    return ctx.messages[-1].tool_calls if ctx.messages else []


def iteration_limit(ctx: Context, options: LoopOptions) -> int:
    """Return the maximum rounds of tool calls of the turn."""
    settings = ctx.settings.agent_execution
    wanted = settings.max_tool_iterations if options.max_iterations is None else options.max_iterations
    return min(wanted, settings.max_tool_iterations_hard_limit)


def _get_detector(ctx: Context, options: LoopOptions) -> LoopDetector:
    """Return the turn's detector, creating it with the first round of calls."""
    detector = ctx.get(DETECTOR)
    if detector is None:
        detector = LoopDetector(options.limits)
        ctx.put(DETECTOR, detector)
    return detector


async def _run_model_pass(ctx: Context, next: Next) -> None:
    if ctx.has_listeners:
        ctx.emit(AgentStatus(status="thinking"))
    await next(ctx)


async def _settle_round(ctx: Context, next: Next, detector: LoopDetector, calls: list[ToolCall]) -> bool:
    """Run one settling pass; return False if the turn ends with it."""
    judged = _check_round(ctx, detector)
    ctx.awaiting_approval.clear()
    ctx.response = None
    if not detector.is_exhausted:
        await _run_settling_pass(ctx, next)
    if ctx.pending and not detector.is_exhausted and ctx.response is None:
        ctx.response = Response(describe_waiting_calls(ctx.pending), "suspended", tool_calls=list(ctx.pending))
        return False
    _append_results(ctx, detector, calls, judged.warnings)
    if detector.is_exhausted:
        ctx.response = Response(
            f"I stopped because a tool call was repeated without progress: {judged.refusal}", "loop_detected"
        )
    return ctx.response is None


async def _run_settling_pass(ctx: Context, next: Next) -> None:
    if ctx.has_listeners:
        ctx.emit(AgentStatus(status="calling_tool", detail=", ".join(call.name for call in ctx.pending)))
    ctx.settling = True
    try:
        await next(ctx)
    finally:
        ctx.settling = False


def _check_round(ctx: Context, detector: LoopDetector) -> RoundVerdict:
    """Check every call of the round once, also if the turn was suspended in it; settle refused calls as denied."""
    judged = ctx.get(ROUND_VERDICT)
    if judged is not None and judged.iteration == ctx.iteration:
        return judged
    judged = RoundVerdict(ctx.iteration, {})
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
        if verdict.may_run:
            judged.warnings[call.id] = verdict.message
        else:
            judged.refusal = verdict.message
            ctx.settle(call, f"error: {verdict.message}", "denied")
    ctx.put(ROUND_VERDICT, judged)
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
    if ctx.iteration % PROGRESS_INTERVAL == 0:
        ctx.emit(Progress(iteration=ctx.iteration, tool_calls=ctx.tally.tool_calls, usage=ctx.tally.usage))


async def _conclude(ctx: Context, next: Next) -> None:
    ctx.tools_allowed = False
    await _run_model_pass(ctx, next)
    if ctx.response is not None:
        ctx.response = replace(ctx.response, finish_reason="max_iterations", detail={"iterations": ctx.iteration})


def describe_waiting_calls(calls: list[ToolCall]) -> str:
    """Return the response text of a suspended turn."""
    return f"Waiting for approval: {', '.join(call.name for call in calls)}."
