"""Tiers of Shield on a tool call: policy, heuristics and classifier, then the evaluator or a person."""

from collections.abc import Awaitable, Mapping
from typing import Any

from sophon.builtin_tools.files import resolve_files_root
from sophon.context import Context
from sophon.messages import ToolCall
from sophon.plugins.configured_shield_classifier import load_classifier
from sophon.security.action_types import has_path_arguments
from sophon.security.heuristics import Finding, evaluate_heuristics
from sophon.security.rule_assessment import resolve_paths
from sophon.security.shield.classifier_contract import TIMEOUT_SECONDS, find_stricter, read_classification
from sophon.security.shield.shield_tiers import EVALUATOR, PERSON, Action, TierVerdict, apply_finding, apply_policy
from sophon.security.shield.verdict_cache import VerdictCache
from sophon.security.sliding_windows import RateLimit
from sophon.tools.declared_action_types import list_action_types
from sophon_middlewares.guards.guard import PASSED, Judgement
from sophon_middlewares.guards.protection import find_demanded_tier
from sophon_middlewares.guards.shield.evaluator import evaluate
from sophon_middlewares.inner.approval.approval import is_asked_by_risk
from sophon_middlewares.tool_calls.call_checks import find_argument_error, find_call_error
from sophon_middlewares.tool_calls.call_risk import find_call_risk
from sophon_middlewares.tool_calls.escalations import find_escalation
from sophon_middlewares.tool_calls.rate_slots import take_slot

_PASSED = tuple(Judgement("allow", PASSED, "no tier objects", tier) for tier in (0, 1))
"""Judgements by the tier that let the call pass."""

SCOPE = "shield.questions"
"""Beginning of the rate window of the questions to one user that only Shield asks; `:` and the user follow."""

QUESTIONS_PER_HOUR = 10
"""Calls that one user is asked about only because of Shield: who is asked again and again approves without reading."""

HOUR_SECONDS = 3600.0


def judge_in_tiers(
    ctx: Context, call: ToolCall, *, cache: VerdictCache, tells_passed: bool
) -> Awaitable[Judgement | None] | Judgement | None:
    """Return the judgement of a call, with the tier that decided; most calls are judged at once.

    None for a call that no tier objects to, unless `tells_passed`. Raises whatever the classifier raises, and
    TimeoutError.
    """
    action, shield = build_action(ctx, call), ctx.services.settings.guards.shield
    verdict = apply_policy(action, ctx.services.security.load_policy(), has_evaluator=shield.has_evaluator)
    if verdict.verdict == "escalate":
        finding = evaluate_heuristics(action.action_type, action.arguments)
        if shield.classifier is not None and finding.severity != "block":
            return _judge_with_classifier(ctx, call, action, cache, verdict, finding, tells_passed=tells_passed)
        verdict = apply_finding(finding, verdict, has_evaluator=shield.has_evaluator)
    if verdict.verdict == "allow":
        return _PASSED[verdict.tier] if tells_passed else None
    return _judge_in_higher_tiers(ctx, call, action, cache, verdict)


async def _judge_with_classifier(
    ctx: Context,
    call: ToolCall,
    action: Action,
    cache: VerdictCache,
    before: TierVerdict,
    finding: Finding,
    *,
    tells_passed: bool,
) -> Judgement | None:
    finding = await _classify(ctx, action, finding)
    verdict = apply_finding(finding, before, has_evaluator=ctx.services.settings.guards.shield.has_evaluator)
    if verdict.verdict == "allow":
        return _PASSED[verdict.tier] if tells_passed else None
    return await _judge_in_higher_tiers(ctx, call, action, cache, verdict)


async def _judge_in_higher_tiers(
    ctx: Context, call: ToolCall, action: Action, cache: VerdictCache, verdict: TierVerdict
) -> Judgement:
    if verdict.verdict == "escalate" and verdict.tier == EVALUATOR:
        verdict = await evaluate(ctx, call, action, cache)
    if verdict.verdict == "escalate":
        return await ask_person(ctx, call, verdict)
    return Judgement(verdict.verdict, verdict.rule, verdict.reason, verdict.tier)


def build_action(ctx: Context, call: ToolCall) -> Action:
    """Return the action that a call is."""
    arguments = call.arguments
    if has_path_arguments(arguments):
        resolved: Mapping[str, Any] = resolve_paths(arguments, str(resolve_files_root(ctx).absolute()))
    else:
        resolved = arguments
    types = list_action_types(call.name, ctx.services.registry.get(call.name))
    # What a tool declares may contradict its name: then no rule about the name allows the call alone.
    return Action(types[0], arguments, resolved, max(find_minimum_tier(ctx, call), len(types) - 1))


def find_minimum_tier(ctx: Context, call: ToolCall) -> int:
    """Return the lowest tier that may allow the call, as a guard before Shield demands."""
    demanded = find_demanded_tier(ctx, call)
    if demanded == EVALUATOR and not ctx.services.settings.guards.shield.has_evaluator:
        demanded = PERSON
    escalation = find_escalation(ctx, call)
    if escalation is None or escalation.guard == "Shield":  # its own, of before the turn was suspended
        return demanded
    return max(demanded, 1 if escalation.rule == "protected_tier1" else EVALUATOR)


async def _classify(ctx: Context, action: Action, finding: Finding) -> Finding:
    """Return the stricter of a finding and the classifier's, if there is one."""
    shield = ctx.services.settings.guards.shield
    if shield.classifier is None:
        return finding
    classifier = load_classifier(shield.classifier, shield.classifier_labels, ctx.services.folder)
    async with ctx.services.clock.timeout(TIMEOUT_SECONDS):
        answer = await classifier(action.action_type, action.resolved)
    return find_stricter(finding, read_classification(answer))


async def ask_person(ctx: Context, call: ToolCall, verdict: TierVerdict) -> Judgement:
    """Return the judgement that a person must decide, or the denial if they were asked too often.

    Who is asked again and again approves without reading. Questions that the risk of a tool asks anyway are not
    counted.
    """
    per_hour = RateLimit("questions_per_hour", f"{SCOPE}:{ctx.principal}", QUESTIONS_PER_HOUR, HOUR_SECONDS)
    if _is_only_question(ctx, call) and not await take_slot(ctx, per_hour):
        reason = (
            f"{verdict.reason}; a person was asked {QUESTIONS_PER_HOUR} times in the last hour, and is asked no more"
        )
        return Judgement("block", per_hour.rule, reason, PERSON)
    return Judgement("escalate", verdict.rule, verdict.reason, PERSON)


def _is_only_question(ctx: Context, call: ToolCall) -> bool:
    """Return whether a person is asked about the call, for the first time, and because of Shield alone."""
    tool = ctx.services.registry.get(call.name)
    if tool is None or find_escalation(ctx, call) is not None:
        return False
    if is_asked_by_risk(ctx, tool, find_call_risk(ctx, call, tool)):
        return False
    return find_call_error(ctx, call, tool) is None and find_argument_error(tool, call.arguments) is None
