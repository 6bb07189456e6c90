"""Tiers of Shield on a tool call: policy, heuristics and classifier, then the evaluator or a person."""

from collections.abc import Awaitable, Mapping
from typing import Any, cast

from sophon.builtin_tools.files import resolve_files_root
from sophon.context import Context
from sophon.messages import ToolCall
from sophon.plugins.import_paths import import_user_object
from sophon.security.action_assessment import resolve_paths
from sophon.security.action_types import has_path_arguments
from sophon.security.heuristics import Finding, evaluate_heuristics
from sophon.security.policy import Policy
from sophon.security.shield.classifier import TIMEOUT_SECONDS, Classifier, find_stricter, read_classification
from sophon.security.shield.tiers import EVALUATOR, Action, TierVerdict, apply_finding, apply_policy
from sophon.security.shield.verdict_cache import VerdictCache
from sophon.tools.declared_action_types import list_action_types
from sophon_middlewares.guards.judgement import Judgement
from sophon_middlewares.guards.shield_evaluation import evaluate
from sophon_middlewares.guards.shield_questions import ask_person
from sophon_middlewares.inner.escalations import find_escalation


def judge_in_tiers(ctx: Context, call: ToolCall, cache: VerdictCache) -> Awaitable[Judgement | None] | None:
    """Return the judgement of a call; None if the tiers 0 and 1 let it pass, which most calls do.

    Raises whatever the classifier raises, and TimeoutError.
    """
    action = build_action(ctx, call)
    verdict = _apply_policy(ctx, action)
    if verdict.verdict == "escalate":
        finding = evaluate_heuristics(action.action_type, action.arguments)
        shield = ctx.services.settings.guards.shield
        if shield.classifier is not None and finding.severity != "block":
            return _judge_with_classifier(ctx, call, action, cache, verdict, finding)
        verdict = apply_finding(finding, verdict, has_evaluator=shield.has_evaluator)
    return None if verdict.verdict == "allow" else _judge_in_higher_tiers(ctx, call, action, cache, verdict)


def _apply_policy(ctx: Context, action: Action) -> TierVerdict:
    policy, has_evaluator = ctx.services.policy, ctx.services.settings.guards.shield.has_evaluator
    return apply_policy(action, policy, has_evaluator=has_evaluator, is_shipped=policy is Policy.default())


async def _judge_with_classifier(
    ctx: Context, call: ToolCall, action: Action, cache: VerdictCache, before: TierVerdict, finding: Finding
) -> Judgement | None:
    finding = await _classify(ctx, action, finding)
    verdict = apply_finding(finding, before, has_evaluator=ctx.services.settings.guards.shield.has_evaluator)
    return None if verdict.verdict == "allow" else await _judge_in_higher_tiers(ctx, call, action, cache, verdict)


async def _judge_in_higher_tiers(
    ctx: Context, call: ToolCall, action: Action, cache: VerdictCache, verdict: TierVerdict
) -> Judgement | None:
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
    escalation = find_escalation(ctx, call)
    if escalation is None or escalation.guard == "Shield":  # its own, of before the turn was suspended
        return 0
    return 1 if escalation.rule == "protected_tier1" else EVALUATOR


async def _classify(ctx: Context, action: Action, finding: Finding) -> Finding:
    """Return the stricter of a finding and the classifier's, if there is one."""
    path = ctx.services.settings.guards.shield.classifier
    if path is None:
        return finding
    found = import_user_object(path, setting="Guards.Shield.Classifier", folder=ctx.services.folder)
    classifier = cast(Classifier, found)
    async with ctx.services.clock.timeout(TIMEOUT_SECONDS):
        answer = await classifier(action.action_type, action.resolved)
    return find_stricter(finding, read_classification(answer))
