"""Assessment of an action by the rules that need no model: protection, policy, heuristics and risk by arguments."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sophon._python.lazy_dataclass import dataclass
from sophon.risk import Risk
from sophon.security.action_types import PATH_ARGUMENTS, find_action_type, find_paths, has_path_arguments
from sophon.security.file_access import TooManyFiles, add_files_in_folders, check_number, find_file_accesses
from sophon.security.heuristics import Finding, evaluate_heuristics
from sophon.security.linear_patterns import make_encodable
from sophon.security.policy import Policy
from sophon.security.protection import protection_level
from sophon.security.risk_assessment import assess_risk


@dataclass(frozen=True, slots=True)
class Assessment:
    """Assessment by one of the rule sets. `tier` is the tier that must decide when the verdict is `verify`, else that
    of the rule set: 0 for protection and policy, 1 for heuristics, classifier and risk.
    """

    source: Literal["protection", "policy", "heuristics", "classifier", "risk"]
    verdict: Literal["allow", "verify", "block"]
    tier: int
    rule: str = ""


_STRICTNESS = {"allow": 0, "verify": 1, "block": 2}


def assess_action(
    tool_name: str, arguments: Mapping[str, Any], *, policy: Policy, folder: str, roots: Sequence[str] = ()
) -> list[Assessment]:
    """Return what each rule set says about a tool call. `folder` is the absolute files folder; paths in it are judged
    relative to it, others by their real path. Protected are the files of `folder` and of the other `roots`.
    """
    action_type = find_action_type(tool_name)
    try:
        resolved = resolve_paths(arguments, folder)
        protection = _assess_protection(action_type, arguments, folder, roots)
    except TooManyFiles:
        return [Assessment("protection", "block", 0, "too_many_files")]
    return [
        protection,
        _assess_policy(policy, action_type, resolved),
        assess_finding("heuristics", evaluate_heuristics(action_type, arguments)),
        _assess_risk(tool_name, resolved),
    ]


def find_strictest(assessments: list[Assessment]) -> Assessment:
    """Return the assessment that decides: block over verify over allow, then the highest tier that must decide, then
    the first that names a rule.
    """
    return max(assessments, key=lambda each: (_STRICTNESS[each.verdict], _tier_to_decide(each), bool(each.rule)))


def _tier_to_decide(assessment: Assessment) -> int:
    return assessment.tier if assessment.verdict == "verify" else 0


def resolve_paths(arguments: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the arguments with each path resolved: relative to `folder` if it is in it, else absolute.

    A path that begins with `~` stays as it is, because a policy may name it so. Raises TooManyFiles.
    """
    if not has_path_arguments(arguments):
        return dict(arguments)
    check_number(sum(1 for _ in find_paths(arguments)))
    return {
        name: [_resolve(path, folder) for path in find_paths({name: value})] if name in PATH_ARGUMENTS else value
        for name, value in arguments.items()
    }


def _resolve(path: str, folder: str) -> str:
    path = make_encodable(path)
    if path.startswith("~") or "\0" in path:
        return path
    root = os.path.realpath(folder)
    real = os.path.realpath(os.path.join(root, path))  # noqa: PTH118 - the path is a text that may be malformed
    return os.path.relpath(real, root) if real == root or real.startswith(root.rstrip(os.sep) + os.sep) else real


def _assess_protection(action_type: str, arguments: Mapping[str, Any], folder: str, roots: Sequence[str]) -> Assessment:
    accesses = add_files_in_folders(find_file_accesses(action_type, arguments, folder))
    levels = {protection_level(access.path, access.operation, root) for access in accesses for root in (folder, *roots)}
    for level in ("blocked", "read_only"):
        if level in levels:
            return Assessment("protection", "block", 0, f"protected_{level}")
    for level, tier in (("tier2", 2), ("tier1", 1)):
        if level in levels:
            return Assessment("protection", "verify", tier, f"protected_{level}")
    return Assessment("protection", "allow", 0)


def _assess_policy(policy: Policy, action_type: str, payload: Mapping[str, Any]) -> Assessment:
    decision = policy.decide(action_type, payload)
    if decision.verdict == "deny":
        return Assessment("policy", "block", 0, decision.rule or "")
    if decision.verdict == "verify":
        return Assessment("policy", "verify", decision.tier, decision.rule or "")
    return Assessment("policy", "allow", 0, decision.rule or "")


def assess_finding(source: Literal["heuristics", "classifier"], finding: Finding) -> Assessment:
    """Return the assessment that a finding of tier 1 stands for."""
    rule = finding.rules[0] if finding.rules else ""
    if finding.severity == "block":
        return Assessment(source, "block", 1, rule)
    if finding.severity == "escalate":
        return Assessment(source, "verify", 2, rule)
    return Assessment(source, "allow", 1, rule)


def _assess_risk(tool_name: str, payload: Mapping[str, Any]) -> Assessment:
    risk = assess_risk(tool_name, payload)
    if risk >= Risk.HIGH:
        return Assessment("risk", "verify", 2, f"risk_{risk.label}")
    return Assessment("risk", "allow", 1)
