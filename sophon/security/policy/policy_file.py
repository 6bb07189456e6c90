"""Policy file: YAML with the groups `deny`, `verify` and `allow`, each a list of rules.

A rule is `{name, action_types, paths, tier_override}`. Only `name` is required: a rule without `action_types` is about
every action, one without `paths` about every path. Anything malformed is an error, because a rule that is skipped
denies nothing.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, TypeGuard, get_args

from sophon._python.lazy_dataclass import dataclass
from sophon._python.strict_yaml import StrictYamlError, parse_yaml
from sophon.security.linear_patterns import LinearPattern
from sophon.security.policy.path_globs import GlobError, compile_globs

Group: TypeAlias = Literal["deny", "verify", "allow"]

MAX_CHARACTERS: Final = 200_000
"""Maximum length of a policy file."""

_GROUPS: Final[tuple[Group, ...]] = get_args(Group)

_KEYS: Final = frozenset({"name", "action_types", "paths", "tier_override"})

ANY_ACTION: Final = "*"

_ACTION_TYPE: Final = re.compile(r"\*|[A-Za-z][\w.:-]{0,99}")


class PolicyError(ValueError):
    """A policy file that cannot be read; its text names the rule and the problem."""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """Rule of a policy. `tier` is the tier that must decide, of a rule that verifies: 1, 2, or 3 for a person. `globs`
    are the paths as they are written in the file.
    """

    group: Group
    name: str
    action_types: frozenset[str] | None
    paths: LinearPattern | None
    tier: int
    globs: tuple[str, ...] = ()

    def is_about(self, action_type: str) -> bool:
        """Return whether the rule is about actions of this type."""
        return self.action_types is None or action_type in self.action_types or ANY_ACTION in self.action_types


def parse_policy(text: str) -> tuple[PolicyRule, ...]:
    """Return the rules of a policy file. Raises PolicyError."""
    if len(text) > MAX_CHARACTERS:
        raise PolicyError(f"the policy has more than {MAX_CHARACTERS} characters")
    try:
        content = parse_yaml(text)
    except StrictYamlError as error:
        where = f"line {error.line}: " if error.line else ""
        raise PolicyError(f"the policy cannot be read: {where}{error}") from error
    if content is None:
        raise PolicyError("the policy is empty")
    if not _is_mapping(content):
        raise PolicyError("the policy must be a mapping of deny, verify and allow")
    _refuse_unknown(content, frozenset(_GROUPS), "the policy")
    rules = [
        _parse_rule(group, rule, number) for group in _GROUPS for number, rule in enumerate(_list(content, group), 1)
    ]
    _refuse_repeated_names(rules)
    return tuple(rules)


def _parse_rule(group: Group, rule: object, number: int) -> PolicyRule:
    where = f"{group} rule {number}"
    if not _is_mapping(rule):
        raise PolicyError(f"{where} must be a mapping, not {rule!r}")
    name = rule.get("name")
    if not isinstance(name, str) or not name.strip():
        raise PolicyError(f"{where} has no name")
    where = f"{group} rule {name!r}"
    _refuse_unknown(rule, _KEYS, where)
    types = _texts(rule, "action_types", where)
    for action_type in types or ():
        if _ACTION_TYPE.fullmatch(action_type) is None:
            raise PolicyError(f"{where}: {action_type!r} is not an action type")
    globs = _texts(rule, "paths", where)
    try:
        paths = None if globs is None else compile_globs(globs, widens=group != "allow")
    except GlobError as error:
        raise PolicyError(f"{where}: {error}") from error
    action_types = None if types is None else frozenset(types)
    return PolicyRule(group, name, action_types, paths, _tier(rule, group, where), tuple(globs or ()))


def _tier(rule: Mapping[str, object], group: Group, where: str) -> int:
    if "tier_override" not in rule:
        return 1 if group == "verify" else 0
    tier = rule["tier_override"]
    if group != "verify":
        raise PolicyError(f"{where}: tier_override belongs to verify rules")
    if isinstance(tier, bool) or not isinstance(tier, int) or tier not in (1, 2, 3):
        raise PolicyError(f"{where}: tier_override must be 1, 2 or 3, not {tier!r}")
    return tier


def _texts(rule: Mapping[str, object], key: str, where: str) -> list[str] | None:
    if key not in rule:
        return None
    value = rule[key]
    if not _is_list(value) or not value:
        raise PolicyError(f"{where}: {key} must be a list with at least one text, not {value!r}")
    texts = [each for each in value if isinstance(each, str) and each]
    if len(texts) != len(value):
        raise PolicyError(f"{where}: {key} must hold texts only")
    return texts


def _list(content: Mapping[str, object], group: Group) -> list[object]:
    value = content.get(group)
    if value is None:
        return []
    if not _is_list(value):
        raise PolicyError(f"{group} must be a list of rules, not {value!r}")
    return value


def _refuse_unknown(content: Mapping[str, object], known: frozenset[str], where: str) -> None:
    unknown = sorted(str(key) for key in content if key not in known)
    if unknown:
        raise PolicyError(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")


def _refuse_repeated_names(rules: list[PolicyRule]) -> None:
    names = [rule.name for rule in rules]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise PolicyError(f"two rules have the name {name!r}; verdicts name their rule")


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)
