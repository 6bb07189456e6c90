"""Results of a round: each call of a reply has exactly one in the messages, in call order."""

from collections.abc import Sequence

from sophon.context import Context
from sophon.messages import Message, ToolCall
from sophon.tools.result_limit import append_note, limit_result
from sophon_middlewares.inner.call_identity import call_key, comparable_result
from sophon_middlewares.inner.loop_detector import LoopDetector
from sophon_middlewares.inner.round_judgement import RoundVerdict


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
        detector.record(call, comparable_result(tool, text), cannot_run=call.id in judged.unusable)
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
