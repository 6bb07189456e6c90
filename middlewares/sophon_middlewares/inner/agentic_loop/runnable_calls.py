"""Judgement of a round: which calls of a reply may run, judged before one of them does."""

from dataclasses import field, replace

from sophon._python.lazy_dataclass import dataclass, new_list
from sophon.builtin_tools.variables import find_variables, variables_set
from sophon.context import Context
from sophon.events import LoopWarning
from sophon.extensions import Key
from sophon.messages import ToolCall
from sophon.tools.argument_variables import MAX_EXPANDED_CHARACTERS, Substitution, substitute_variables
from sophon.tools.placeholder_arguments import describe_placeholder, find_placeholder_argument
from sophon.tools.tool import Risk
from sophon.turn.provenance import list_person_texts
from sophon_middlewares.inner.agentic_loop.loop_detector import LoopDetector, call_key
from sophon_middlewares.tool_calls.call_checks import find_call_error
from sophon_middlewares.tool_calls.tool_limits import count_capped_calls, find_capped_calls

SIDE_EFFECTS_FROM = Risk.MEDIUM
"""Risk from which placeholders are refused; below it a tool reads, and https://example.com/ is a page like others."""


@dataclass(slots=True)
class RoundVerdict:
    """Judgement of one round: warnings by call id, why the last call was refused as a loop, calls that cannot run."""

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
        tool = registry.get(call.name)
        problem = capped.get(call.id) or find_call_error(ctx, call, tool) or wrong.get(call.id)
        if problem is None and (problem := find_placeholder_error(ctx, call)) is not None:
            wrong[call.id] = problem
        if problem is not None:
            judged.unusable.append(call.id)
        verdict = detector.check(call, problem=problem, polls=tool is not None and tool.polls)
        if call.id in capped and verdict.may_run:
            ctx.settle(call, f"error: {problem}", "denied")
        elif call.id in wrong and verdict.may_run:
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
            judged.refusal = verdict.reason
            ctx.settle(call, f"error: {verdict.message}", "denied")
    if registry.has_capped_tools:
        count_capped_calls(ctx, [call for call in ctx.pending if call.id not in judged.unusable])
    ctx.put(ROUND_VERDICT, judged)
    return judged


def substitute_pending(ctx: Context) -> dict[str, str]:
    """Substitute the variables in the pending calls; return why a call cannot run, by call id.

    The transcript keeps what the model wrote. A call that equals another one after the substitution counts as equal for
    the loop detector. Costs nothing without `Tools.Variables`.
    """
    if variables_set.name not in ctx.services.registry:
        return {}
    errors: dict[str, str] = {}
    values: dict[str, str] | None = None
    for position, call in enumerate(ctx.pending):
        if call.malformed is not None or b"{{" not in call.canonical_arguments():
            continue
        if values is None:
            values = {name: each.value for name, each in find_variables(ctx).items()}
        found = substitute_variables(call.arguments, values)
        if found.has_failed:
            errors[call.id] = describe_failure(found, sorted(values))
        elif found.arguments is not call.arguments:
            concrete = replace(call, arguments=found.arguments)
            object.__setattr__(call, "identity", call_key(concrete))
            # A new list: a branch or a checkpoint may hold the old one.
            ctx.pending = [*ctx.pending[:position], concrete, *ctx.pending[position + 1 :]]
    return errors


def find_placeholder_error(ctx: Context, call: ToolCall) -> str | None:
    """Return why a call with side effects cannot run with the placeholder that it holds, or None."""
    tool, settings = ctx.services.registry.get(call.name), ctx.services.settings.tools
    if tool is None or tool.risk < SIDE_EFFECTS_FROM or call.malformed is not None or not settings.refuse_placeholders:
        return None
    found = find_placeholder_argument(call.arguments, {})
    if found is None:
        return None
    # The schema and what people wrote are looked at only if something was found, as both take time.
    named = [*list_person_texts(ctx)]
    found = find_placeholder_argument(call.arguments, tool.parameters, named_in=named)
    return None if found is None else describe_placeholder(call.name, found)


def describe_failure(found: Substitution, known: list[str]) -> str:
    """Return the error of a call whose variables cannot be substituted, as a message for the model."""
    if found.is_too_deep:
        return "the arguments are nested too deeply for variables; nothing was run"
    if found.is_too_long:
        return f"with its variables the call is longer than {MAX_EXPANDED_CHARACTERS} characters; nothing was run"
    names = ", ".join(f"{{{{{name}}}}}" for name in found.unknown[:5])
    return (
        f"there is no variable {names}; the variables of this turn are: {', '.join(known) or 'none'}. Nothing was run."
        r" Set it with variables.set in an earlier round, or write \{{name}} for that text itself"
    )
