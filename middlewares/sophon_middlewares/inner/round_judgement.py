"""Judgement of a round: which calls of a reply may run, judged before one of them does."""

from dataclasses import field

from sophon.context import Context
from sophon.events import LoopWarning
from sophon.extensions import Key
from sophon.lazy_dataclass import dataclass
from sophon.slotted_dataclass import new_list
from sophon_middlewares.inner.call_arguments import find_placeholder_error, substitute_pending
from sophon_middlewares.inner.call_checks import find_call_error
from sophon_middlewares.inner.loop_detector import LoopDetector
from sophon_middlewares.inner.tool_limits import count_capped_calls, find_capped_calls


@dataclass(slots=True)
class RoundVerdict:
    """Judgement of one round: warnings by call id, the last refusal of the loop detector, calls that cannot run."""

    iteration: int
    warnings: dict[str, str]
    refusal: str = ""
    unusable: list[str] = field(default_factory=new_list)


ROUND_VERDICT: Key[RoundVerdict] = Key(
    "agentic_loop.judgement",
    dump=lambda judged: [judged.iteration, judged.warnings, judged.refusal, judged.unusable],
    load=lambda data: RoundVerdict(*data),
)


def judge_round(ctx: Context, detector: LoopDetector) -> RoundVerdict:
    """Judge every call of the round once, also if the turn was suspended in it; settle refused calls as denied."""
    judged = ctx.get(ROUND_VERDICT)
    if judged is not None and judged.iteration == ctx.iteration:
        return judged
    judged = RoundVerdict(ctx.iteration, {})
    registry = ctx.services.registry
    wrong = substitute_pending(ctx)
    capped = find_capped_calls(ctx, ctx.pending) if registry.has_capped_tools else {}
    for call in list(ctx.pending):
        problem = capped.get(call.id) or find_call_error(ctx, call, registry.get(call.name)) or wrong.get(call.id)
        if problem is None and (problem := find_placeholder_error(ctx, call)) is not None:
            wrong[call.id] = problem
        if problem is not None:
            judged.unusable.append(call.id)
        verdict = detector.check(call, problem=problem)
        if verdict.may_run and call.id in capped:
            ctx.settle(call, f"error: {problem}", "denied")
        elif verdict.may_run and call.id in wrong:
            ctx.settle(call, f"error: {problem}", "failed")
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
    if registry.has_capped_tools:
        count_capped_calls(ctx, [call for call in ctx.pending if call.id not in judged.unusable])
    ctx.put(ROUND_VERDICT, judged)
    return judged
