"""Tiers 0 and 1 of Shield: what decides, and which tier must decide next."""

from collections.abc import Mapping
from typing import Any

from sophon.security.heuristics import Finding
from sophon.security.policy import Policy
from sophon.security.shield.shield_tiers import Action, TierVerdict, apply_finding, apply_policy
from tests.tables import table

OWN = Policy.load(
    """
deny: [{name: no_shell, action_types: [execute_command]}]
verify:
  - {name: person, action_types: [git_push], tier_override: 3}
  - {name: model, action_types: [notify], tier_override: 2}
  - {name: rules, action_types: [open]}
allow: [{name: reads, action_types: [read_file, http_request]}]
"""
)
SHELL_BY_PERSON = Policy.load("verify: [{name: ask, action_types: [execute_command], tier_override: 3}]")


def tier_0(
    action_type: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    policy: Policy = OWN,
    minimum: int = 0,
    evaluator: bool = False,
) -> tuple[str, int]:
    action = Action(action_type, arguments or {}, arguments or {}, minimum)
    verdict = apply_policy(action, policy, has_evaluator=evaluator)
    return verdict.verdict, verdict.tier


@table(
    ("action_type", "evaluator", "expected"),
    [
        ("execute_command", False, ("block", 0)),
        ("read_file", False, ("allow", 0)),
        ("http_request", False, ("escalate", 1)),  # tier 0 cannot allow what leaves the host
        ("git_push", False, ("escalate", 3)),
        ("git_push", True, ("escalate", 3)),
        ("notify", True, ("escalate", 2)),
        ("notify", False, ("escalate", 3)),  # a rule of one's own is not waived because a tier is off
        ("open", False, ("escalate", 1)),
        ("unknown", False, ("escalate", 1)),
    ],
)
def test_the_policy_decides_or_names_the_tier_that_must(
    action_type: str, evaluator: bool, expected: tuple[str, int]
) -> None:
    assert tier_0(action_type, evaluator=evaluator) == expected


@table(
    ("action_type", "arguments", "expected"),
    [
        ("read_file", {"path": "~/.ssh/id_rsa"}, ("block", 0)),
        ("write_file", {"path": "notes.txt"}, ("escalate", 1)),
        ("send_message", {"path": "notes.txt"}, ("escalate", 1)),
        ("browser_navigate", {"url": "https://example.org"}, ("escalate", 1)),
        ("execute_command", {"command": "curl example.org"}, ("escalate", 1)),
        ("execute_command", {"command": "git status"}, ("allow", 0)),
        ("memory_search", {"query": "ada"}, ("allow", 0)),
    ],
)
def test_what_the_shipped_policy_verifies_is_tier_1s_without_an_evaluator(
    action_type: str, arguments: Mapping[str, Any], expected: tuple[str, int]
) -> None:
    assert tier_0(action_type, arguments, policy=Policy.default()) == expected


def test_the_shipped_policy_is_verified_by_the_evaluator_if_there_is_one() -> None:
    assert tier_0("write_file", {"path": "x"}, policy=Policy.default(), evaluator=True) == ("escalate", 2)


@table("command", ["git status && curl evil.example", "git status; rm -rf /", "cat x"])
def test_only_a_safe_command_is_on_the_fast_path(command: str) -> None:
    assert tier_0("execute_command", {"command": command}, policy=Policy.default())[0] == "escalate"


@table(("policy", "minimum"), [(Policy.default(), 1), (SHELL_BY_PERSON, 0), (OWN, 0)])
def test_a_safe_command_does_not_pass_a_higher_tier_or_a_denial(policy: Policy, minimum: int) -> None:
    assert tier_0("execute_command", {"command": "git status"}, policy=policy, minimum=minimum)[0] != "allow"


@table(("minimum", "evaluator", "expected"), [(1, True, 1), (2, True, 2), (2, False, 1), (3, True, 3)])
def test_an_allowed_action_is_judged_by_the_tier_that_another_guard_demands(
    minimum: int, evaluator: bool, expected: int
) -> None:
    assert tier_0("read_file", minimum=minimum, evaluator=evaluator) == ("escalate", expected)


@table(
    ("severity", "before", "evaluator", "expected"),
    [
        ("allow", 1, False, ("allow", 1)),
        ("allow", 2, True, ("escalate", 2)),
        ("allow", 3, False, ("escalate", 3)),
        ("escalate", 1, False, ("escalate", 3)),
        ("escalate", 1, True, ("escalate", 2)),
        ("escalate", 3, True, ("escalate", 3)),
        ("block", 3, True, ("block", 1)),
    ],
)
def test_a_finding_decides_or_goes_up_and_never_down(
    severity: Any, before: int, evaluator: bool, expected: tuple[str, int]
) -> None:
    verdict = apply_finding(Finding(severity, 0.7, ("a.b",)), TierVerdict("escalate", before), has_evaluator=evaluator)
    assert (verdict.verdict, verdict.tier) == expected
