"""Policy: decides on an action by the rules of a file. Deny wins over verify, verify over allow (tier 0 of Shield)."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Self

from sophon._python.lazy_dataclass import dataclass
from sophon.security.action_types import find_paths
from sophon.security.linear_patterns import make_encodable
from sophon.security.policy.path_globs import normalize_path
from sophon.security.policy.policy_file import PolicyRule, parse_policy


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """Decision of a policy. `none`: no rule is about the action. `tier` is the tier that `verify` asks for, else 0.

    `rule` is the name of the rule that decided.
    """

    verdict: Literal["allow", "deny", "verify", "none"]
    tier: int = 0
    rule: str | None = None


_NONE = PolicyDecision("none")


class Policy:
    """Rules that deny, verify or allow actions by type and path (OpenParallax, Shield).

    A rule that denies or verifies is met by any path of an action, a rule that allows only by all of them; a rule with
    paths is not met by an action without one. Of several rules that verify, the one with the highest tier decides.
    """

    def __init__(self, rules: Iterable[PolicyRule], *, is_shipped: bool = False) -> None:
        self.is_shipped = is_shipped
        """Whether it is the policy that ships with Sophon."""
        self._rules = tuple(rules)
        self._by_action_type: dict[str, tuple[PolicyRule, ...]] = {}

    @classmethod
    def load(cls, text: str) -> Self:
        """Read a policy from the text of a YAML file. Raises PolicyError."""
        return cls(parse_policy(text))

    @classmethod
    def default(cls) -> "Policy":
        """Return the policy that ships with Sophon."""
        return _load_default()

    @property
    def rules(self) -> tuple[PolicyRule, ...]:
        """The rules: those that deny, those that verify, those that allow, each in the order of the file."""
        return self._rules

    def decide(self, action_type: str, payload: Mapping[str, Any]) -> PolicyDecision:
        """Return the decision on an action; its paths are read from the arguments of `PATH_ARGUMENTS`."""
        paths = [normalize_path(make_encodable(path)) for path in find_paths(payload)]
        verify: PolicyRule | None = None
        allow: PolicyRule | None = None
        rules = self._by_action_type.get(action_type)
        for rule in self._find_rules(action_type) if rules is None else rules:
            if not _is_met(rule, paths):
                continue
            if rule.group == "deny":
                return PolicyDecision("deny", 0, rule.name)
            if rule.group == "verify" and (verify is None or rule.tier > verify.tier):
                verify = rule
            if rule.group == "allow" and allow is None:
                allow = rule
        if verify is not None:
            return PolicyDecision("verify", verify.tier, verify.name)
        return _NONE if allow is None else PolicyDecision("allow", 0, allow.name)

    def _find_rules(self, action_type: str) -> tuple[PolicyRule, ...]:
        found = tuple(rule for rule in self._rules if rule.is_about(action_type))
        if len(self._by_action_type) < _MAX_CACHED_TYPES:
            self._by_action_type[action_type] = found
        return found


_MAX_CACHED_TYPES = 1000
"""Tools are few; a model may invent any number of names."""


def _is_met(rule: PolicyRule, paths: list[str]) -> bool:
    if rule.paths is None:
        return True
    if not paths:
        return False
    met = (rule.paths.fullmatch(path) is not None for path in paths)
    return all(met) if rule.group == "allow" else any(met)


@cache
def _load_default() -> Policy:
    text = files("sophon.security.policy").joinpath("default.yaml").read_text("utf-8")
    return Policy(parse_policy(text), is_shipped=True)
