"""Agentic loop: repeats the inner chain until a reply has no tool calls, or a limit is reached."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.argument_checks import check_argument
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.events import AgentStatus, Progress
from sophon.extensions import Key
from sophon.messages import Message, Response, ToolCall
from sophon.tools.result_limit import append_note, limit_result
from sophon_middlewares.inner.agentic_loop.loop_detector import LoopDetector, LoopLimits, call_key, comparable_result
from sophon_middlewares.inner.agentic_loop.loop_end import report_loop_end
from sophon_middlewares.inner.agentic_loop.runnable_calls import RoundVerdict, judge_round
from sophon_middlewares.inner.llm_invoker.reply import (
    append_reply,
    end_turn,
    restore_final_response,
    stands_for_empty_reply,
    withdraw_reply,
)
from sophon_middlewares.tool_calls.calls_started_earlier import find_earlier_run
from sophon_middlewares.tool_calls.tool_limits import (
    SpentTime,
    find_spent_time,
    refuse_late_call,
    release_calls,
    reserve_calls,
)

log = logging.getLogger("sophon")

PROGRESS_INTERVAL = 10
"""Rounds between two Progress events. Source: Sophon's guide, loop detector."""

DETECTOR: Key[LoopDetector] = Key("agentic_loop.detector", dump=LoopDetector.to_json, load=LoopDetector.from_json)


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """`max_iterations` is in rounds of tool calls, None for that of the settings; `limits` are the loop detector's.
    With `announces_rounds` each round begins with the status `calling_tool`; False where each call does.

    The turn's own `max_iterations` takes precedence, and none exceeds AgentExecution.MaxToolIterationsHardLimit (500).
    Raises ValueError for a number of rounds that is not a whole number from 1.
    """

    max_iterations: int | None = None
    limits: LoopLimits = LoopLimits()
    announces_rounds: bool = True

    def __post_init__(self) -> None:
        wanted: object = self.max_iterations
        if wanted is not None and (type(wanted) is not int or wanted < 1):
            raise ValueError(f"max_iterations is {wanted!r}; it must be a whole number from 1, or None")


class AgenticLoop:
    """Runs a model pass, then alternates settling pass and model pass, until a reply has no calls.

    `ctx.settling` distinguishes the passes. The loop detector adds a warning to a call's result, refuses a call that
    repeats without progress, and ends the turn (`loop_detected`) after three refusals. All calls of a reply are judged
    before one runs: more of them than `Budget.Turn.ToolCalls` has left end the turn, more than a tool's
    `max_calls_per_turn` are refused. At the iteration limit, and when the time for work is spent (tool_limits.py), one
    last reply without tools concludes (`max_iterations`). A call that waits for approval ends the turn as `suspended`;
    a resumed turn continues with that call. Entered again, it continues where it stopped: settled calls keep their
    results, and what ended the turn in a settling pass ends it again. A middleware that sets `ctx.response` in a
    settling pass ends the turn.
    """

    zone = "inner"
    unique = True
    calls_next = True
    before = ("ParallelExecution", "Approval", "ToolExecution", "LlmInvoker")
    requires = ("ToolExecution",)
    acts = {
        "turn": "repeats the inner chain until a reply has no tool calls; stops loops and endless runs",
        "tool batch": "appends the tool results to the messages, in call order, with any warning of the loop detector",
    }

    def __init__(self, *, options: LoopOptions | None = None) -> None:
        check_argument("AgenticLoop(options)", options, "max_iterations", "LoopOptions(max_iterations=20)")
        self._options = options or LoopOptions()

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if restore_final_response(ctx):
            return
        most = iteration_limit(ctx, self._options)
        while True:
            # Calls without results are found at once in a turn that was resumed, and in one that is run again.
            calls = list_unanswered_calls(ctx)
            if calls and not await _settle_round(ctx, next, self._options, calls):
                return
            spent = find_spent_time(ctx)
            if ctx.iteration >= most or spent is not None:
                await _conclude(ctx, next, spent)
                return
            if ctx.has_listeners:
                ctx.emit(AgentStatus(status="thinking"))
            await next(ctx)
            if not list_unanswered_calls(ctx):
                return


def list_unanswered_calls(ctx: Context) -> list[ToolCall]:
    """Return the calls of the last reply while it has no results yet."""
    return ctx.messages[-1].tool_calls if ctx.messages else []


def iteration_limit(ctx: Context, options: LoopOptions) -> int:
    """Return the maximum rounds of tool calls: the turn's, else the loop's or the settings', up to the hard limit."""
    settings = ctx.services.settings.agent_execution
    wanted = ctx.max_iterations or options.max_iterations or settings.max_tool_iterations
    if ctx.services.assistant.agents is not None:
        wanted = limit_rounds(ctx, wanted)
    if wanted > settings.max_tool_iterations_hard_limit:
        log.warning(
            "max_iterations is %d; AgentExecution.MaxToolIterationsHardLimit (%d) applies",
            wanted,
            settings.max_tool_iterations_hard_limit,
        )
        return settings.max_tool_iterations_hard_limit
    return wanted


def limit_rounds(ctx: Context, wanted: int) -> int:
    """Return the rounds of a turn within those of its agent."""
    from sophon.turn.agent import find_turn_agent  # lazy: most hosts have no agents

    agent = find_turn_agent(ctx)
    return wanted if agent is None or agent.max_rounds is None else min(wanted, agent.max_rounds)


async def _settle_round(ctx: Context, next: Next, options: LoopOptions, calls: list[ToolCall]) -> bool:
    """Run one settling pass; return False if the turn ends with it."""
    detector = ctx.get(DETECTOR)
    if detector is None:  # the first round of calls
        detector = LoopDetector(options.limits)
        ctx.put(DETECTOR, detector)
    judged = judge_round(ctx, detector)
    ctx.awaiting_approval.clear()
    ctx.response = None
    if not detector.is_exhausted:
        await _run_settling_pass(ctx, next, options, judged)
    if ctx.pending and not detector.is_exhausted and ctx.response is None:
        # A call of a later batch waits for the calls before it, and nobody was asked about it yet.
        asked = [call for call in ctx.pending if call.id in ctx.awaiting_approval] or ctx.pending
        ctx.response = Response(describe_waiting_calls(asked), "suspended", tool_calls=list(ctx.pending))
        return False
    append_results(ctx, detector, calls, judged)
    ctx.iteration += 1
    ctx.tally.tool_rounds += 1
    if ctx.iteration % PROGRESS_INTERVAL == 0:
        ctx.emit(Progress(iteration=ctx.iteration, tool_calls=ctx.tally.tool_calls, usage=ctx.tally.usage))
    if detector.is_exhausted:
        ctx.response = Response(f"I stopped because tool calls were repeated: {judged.refusal}.", "loop_detected")
    if ctx.response is not None:
        end_turn(ctx, ctx.response)
        if detector.is_exhausted:
            await report_loop_end(ctx)
    return ctx.response is None


async def _run_settling_pass(ctx: Context, next: Next, options: LoopOptions, judged: RoundVerdict) -> None:
    usable = [call for call in ctx.pending if call.id not in judged.unusable]
    if ctx.resumed:  # what an earlier process has started is counted already
        usable = [call for call in usable if await find_earlier_run(ctx, call) is None]
    if usable and (spent := find_spent_time(ctx)) is not None:  # before a person is asked about one of them
        for call in usable:
            ctx.settle(call, spent.refusal, "denied")
        usable = []
    reserve_calls(ctx, usable)
    if options.announces_rounds and ctx.has_listeners:
        ctx.emit(AgentStatus(status="calling_tool", detail=", ".join(call.name for call in ctx.pending)))
    ctx.settling = True
    try:
        with ctx.tool_check(refuse_late_call):
            await next(ctx)
    finally:
        ctx.settling = False
        release_calls(ctx)


async def _conclude(ctx: Context, next: Next, spent: SpentTime | None) -> None:
    ctx.tools_allowed = False
    if ctx.has_listeners:
        ctx.emit(AgentStatus(status="thinking"))
    try:
        await next(ctx)
    finally:
        ctx.tools_allowed = True
    if ctx.response is None:
        return
    text, detail = ctx.response.text, dict[str, Any](iterations=ctx.iteration)
    if spent is not None:
        detail |= {"limit": spent.setting, "used": round(spent.seconds, 3)}
    if stands_for_empty_reply(ctx.response):
        limit = "" if spent is None else f" and {spent.seconds:.0f} seconds of work ({spent.setting})"
        text = f"I stopped after {ctx.iteration} rounds of tool calls{limit}, and the model gave no summary."
        withdraw_reply(ctx)
        append_reply(ctx, Message("assistant", text))
        detail = {**ctx.response.detail, **detail}
    ctx.response = replace(ctx.response, text=text, finish_reason="max_iterations", detail=detail)


def describe_waiting_calls(calls: list[ToolCall]) -> str:
    """Return the response text of a suspended turn."""
    return f"Waiting for approval: {', '.join(call.name for call in calls)}."


def append_results(ctx: Context, detector: LoopDetector, calls: Sequence[ToolCall], judged: RoundVerdict) -> None:
    """Append the results of all calls of a reply to the messages, and record them in the detector.

    A call that is still pending is discarded. A warning of the detector follows the result; both together are at most
    the tool's `max_result` or Tools.MaxResultCharacters.
    """
    for call in ctx.pending:
        ctx.settle(call, "error: not run, because the turn ended", "discarded")
    registry, default_limit = ctx.services.registry, ctx.services.settings.tools.max_result_characters
    for call in calls:
        if call.id not in ctx.results:
            _settle_repeated_call(ctx, call, calls)
        result = ctx.results[call.id]
        text = result.text
        tool = registry.get(call.name)
        unusable = call.id in judged.unusable
        detector.record(call, text, normalize=partial(comparable_result, tool), cannot_run=unusable)
        limit = (tool.max_result if tool is not None else None) or default_limit
        if call.id in judged.warnings:
            text = append_note(text, f"\n\nwarning: {judged.warnings[call.id]}", limit)
        else:
            text = limit_result(text, limit)
        origin = "denied" if result.outcome == "denied" else ""
        ctx.messages.append(Message("tool", text, tool_call_id=call.id, origin=origin))
    ctx.results = {}


def _settle_repeated_call(ctx: Context, call: ToolCall, calls: Sequence[ToolCall]) -> None:
    """Settle a call that did not run, because it repeats another call of the reply, with the result of that one."""
    same = (other for other in calls if call_key(other) == call_key(call))
    result = next((ctx.results[other.id] for other in same if other.id in ctx.results), None)
    if result is None:
        ctx.settle(call, "error: not run, because it was taken out of the pending calls", "discarded")
    else:
        ctx.settle(call, result.text, result.outcome)
