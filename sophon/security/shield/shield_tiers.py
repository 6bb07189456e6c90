"""Tiers 0 and 1 of Shield: what the policy and the heuristics decide on an action, and which tier must decide next.

    0  policy and safe commands    1  heuristics and classifier    2  evaluator (a model)    3  a person

A tier decides, or hands the action to a higher one, never to a lower one (OpenParallax, Shield).
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from sophon._python.lazy_dataclass import dataclass
from sophon.security.commands import is_safe_command
from sophon.security.heuristics import Finding
from sophon.security.policy import Policy

EVALUATOR: Final = 2
"""The tier in which a model evaluates the action."""

PERSON: Final = 3
"""The tier in which a person decides."""

MINIMUM_TIERS: Final[Mapping[str, int]] = {
    "execute_command": 1,
    "send_email": 1,
    "send_message": 1,
    "http_request": 1,
    "browser_navigate": 1,
    "memory_write": 1,
}
"""Action types that tier 0 cannot allow alone, because data leaves by them, or code or later turns begin with them."""


@dataclass(frozen=True, slots=True)
class Action:
    """A tool call as Shield sees it: its action type, its arguments, and these with their paths resolved.

    `minimum_tier` is the lowest tier that may allow it, as guards before Shield demand; a person, if nobody else can.
    """

    action_type: str
    arguments: Mapping[str, Any]
    resolved: Mapping[str, Any]
    minimum_tier: int = 0


@dataclass(frozen=True, slots=True)
class TierVerdict:
    """Verdict of a tier. `tier` is the one that decided, or with `escalate` the one that must decide next."""

    verdict: Literal["allow", "block", "escalate"]
    tier: int
    rule: str = ""
    reason: str = ""


def apply_policy(action: Action, policy: Policy, *, has_evaluator: bool) -> TierVerdict:
    """Return the verdict of tier 0: block, allow, or escalate to tier 1, 2 or 3.

    Without an evaluator a rule that asks for tier 2 is a person's, except in the policy that ships with Sophon: of an
    action that it verifies, tier 1 must find nothing.
    """
    decision = policy.decide(action.action_type, action.resolved)
    rule = decision.rule or ""
    if decision.verdict == "deny":
        return TierVerdict("block", 0, rule, "the policy denies it")
    if action.action_type == "execute_command" and decision.tier < PERSON and _is_on_fast_path(action):
        return TierVerdict("allow", 0, "safe_command")
    minimum = max(action.minimum_tier, MINIMUM_TIERS.get(action.action_type, 0))
    if decision.verdict == "allow" and minimum == 0:
        return TierVerdict("allow", 0, rule)
    tier = decision.tier
    if tier == EVALUATOR and not has_evaluator:
        tier = 1 if policy.is_shipped else PERSON
    if minimum == PERSON and tier < PERSON:
        return TierVerdict("escalate", PERSON, "no_evaluator", "a model must evaluate it, and none does")
    # A guard that demands the evaluator, and no person instead of one, has asked for them by itself.
    demanded = minimum if has_evaluator else min(minimum, 1)
    return TierVerdict("escalate", max(1, tier, demanded), rule, _VERIFY if decision.tier else "")


_VERIFY: Final = "the policy wants it verified"


def _is_on_fast_path(action: Action) -> bool:
    if action.minimum_tier > 0:
        return False
    command = action.arguments.get("command")
    return isinstance(command, str) and is_safe_command(command)


def apply_finding(finding: Finding, before: TierVerdict, *, has_evaluator: bool) -> TierVerdict:
    """Return the verdict of tier 1 on an action that tier 0 escalated (`before`)."""
    rule = finding.rules[0] if finding.rules else "heuristics"
    if finding.severity == "block":
        return TierVerdict("block", 1, rule, _describe(finding))
    if finding.severity == "escalate":
        tier = EVALUATOR if has_evaluator else PERSON
        return TierVerdict("escalate", max(tier, before.tier), rule, _describe(finding))
    return TierVerdict("allow", 1) if before.tier <= 1 else before


def _describe(finding: Finding) -> str:
    others = ", ".join(finding.rules[1:_MAX_NAMED_RULES])  # the first is the rule of the verdict
    return f"its arguments look like an attack{f', also by {others}' if others else ''}"


_MAX_NAMED_RULES: Final = 3
