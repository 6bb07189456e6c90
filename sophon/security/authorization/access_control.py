"""Access control list: which principal may do what to which resource. A deny wins; what no rule allows is denied.

Rules and semantics are those of ClawDesk (ACL), with conditions on time, channel and cost.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeGuard

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern

SYSTEM: Final = "system"
"""Principal of the host itself, which is allowed everything."""

ANY: Final = "*"

_KEYS: Final = frozenset({"principal", "resource", "action", "effect", "conditions"})
_CONDITIONS: Final = frozenset({"time", "channel", "max_cost"})


MAX_COVERING: Final = 2000
"""Questions whose rules are kept, of as many tools and persons."""


class AclError(ValueError):
    """A rule that cannot be read; its text names the rule by its number, from 1."""


@dataclass(frozen=True, slots=True)
class AclRule:
    """One rule. `principal`, `resource` and `action` are exact, `*`, or a prefix followed by `*`.

    Conditions limit a rule: `window` is a time of day in minutes of UTC, its end exclusive, which may pass midnight;
    `channels` are names of channels; `max_cost` is the cost in dollars up to which the rule holds.
    """

    principal: str
    resource: str
    action: str
    effect: Literal["allow", "deny"]
    window: tuple[int, int] | None = None
    channels: frozenset[str] | None = None
    max_cost: float | None = None

    def covers(self, principals: Iterable[str], resource: str, action: str) -> bool:
        """Return whether the rule is about one of the principals, the resource and the action."""
        return (
            any(_matches(self.principal, each) for each in principals)
            and _matches(self.resource, resource)
            and _matches(self.action, action)
        )

    def holds(self, at: datetime | None, channel: str | None, cost: float | None) -> bool:
        """Return whether the conditions are met. What is unknown meets no condition of an allow, each of a deny."""
        unknown = self.effect == "deny"
        if self.window is not None and not (unknown if at is None else _is_within(self.window, at)):
            return False
        if self.channels is not None and not (unknown if channel is None else channel in self.channels):
            return False
        return self.max_cost is None or (unknown if cost is None else cost <= self.max_cost)


@dataclass(frozen=True, slots=True)
class AclDecision:
    """Decision of an Acl; `rule` is the number, from 1, of the rule that decided, None if there was none."""

    allowed: bool
    rule: int | None = None


class Acl:
    """Access control list over rules.

    Each rule is a mapping `{principal, resource, action, effect, conditions: {time: ["HH:MM", "HH:MM"], channel: name
    or names, max_cost: dollars}}`, or an `AclRule`. A rule for a role has the principal `role:NAME`. Raises AclError
    for a rule with a missing, unknown or malformed key.
    """

    def __init__(self, rules: Iterable[Mapping[str, Any] | AclRule]) -> None:
        self._rules = tuple(
            rule if isinstance(rule, AclRule) else parse_rule(rule, number) for number, rule in enumerate(rules, 1)
        )
        self._covering: dict[tuple[tuple[str, ...], str, str], tuple[tuple[int, AclRule], ...]] = {}

    def allows(
        self,
        principal: str,
        resource: str,
        action: str,
        *,
        at: datetime | None = None,
        channel: str | None = None,
        cost: float | None = None,
    ) -> bool:
        """Return whether the principal may do this. `at` without a time zone is UTC."""
        return self.decide(principal, resource, action, at=at, channel=channel, cost=cost).allowed

    def decide(
        self,
        principal: str,
        resource: str,
        action: str,
        *,
        memberships: Iterable[str] = (),
        at: datetime | None = None,
        channel: str | None = None,
        cost: float | None = None,
    ) -> AclDecision:
        """Return the decision, and the rule behind it: the first deny, else the first allow.

        `memberships` are what else rules may name the principal by, such as `role:User` or the principal of a chat.
        """
        if principal == SYSTEM:
            return AclDecision(True)
        principals = (principal, *memberships)
        allowed_by: int | None = None
        for number, rule in self._find_covering(principals, resource, action):
            if rule.holds(at, channel, cost):
                if rule.effect == "deny":
                    return AclDecision(False, number)
                allowed_by = allowed_by or number
        return AclDecision(allowed_by is not None, allowed_by)

    def _find_covering(
        self, principals: tuple[str, ...], resource: str, action: str
    ) -> tuple[tuple[int, AclRule], ...]:
        """Return the rules about these principals, this resource and action, with their numbers from 1.

        They are the same for every call of a tool by a person; only conditions depend on the moment.
        """
        key = (principals, resource, action)
        found = self._covering.get(key)
        if found is None:
            if len(self._covering) >= MAX_COVERING:
                self._covering = {}
            found = self._covering[key] = tuple(
                (number, rule)
                for number, rule in enumerate(self._rules, 1)
                if rule.covers(principals, resource, action)
            )
        return found


def _matches(pattern: str, value: str) -> bool:
    if pattern.endswith(ANY):
        return value.startswith(pattern[:-1])
    return pattern == value


def _is_within(window: tuple[int, int], at: datetime) -> bool:
    utc = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    now = 60 * utc.hour + utc.minute
    start, end = window
    if start <= end:
        return start <= now < end
    return now >= start or now < end


def parse_rule(rule: Mapping[str, Any], number: int) -> AclRule:
    """Return the rule of a mapping; `number` names it in the AclError for one that cannot be read."""
    problem = _find_problem(rule)
    if problem is not None:
        raise AclError(f"rule {number}: {problem}")
    conditions: Mapping[str, Any] = rule.get("conditions") or {}
    window = conditions.get("time")
    channel = conditions.get("channel")
    return AclRule(
        principal=rule["principal"],
        resource=rule["resource"],
        action=rule["action"],
        effect=rule["effect"],
        window=None if window is None else (_parse_time(window[0], number), _parse_time(window[1], number)),
        channels=None if channel is None else frozenset([channel] if isinstance(channel, str) else channel),
        max_cost=conditions.get("max_cost"),
    )


def _find_problem(rule: Mapping[str, Any]) -> str | None:
    if unknown := sorted(set(rule) - _KEYS):
        return f"unknown key {unknown[0]!r}"
    for key in ("principal", "resource", "action", "effect"):
        value = rule.get(key)
        if not isinstance(value, str) or not value:
            return f"{key} must be a text, not {value!r}"
        if ANY in value[:-1]:
            return f"{key} {value!r}: * may stand only at the end"
    if rule["effect"] not in ("allow", "deny"):
        return f"effect must be allow or deny, not {rule['effect']!r}"
    conditions = rule.get("conditions")
    return None if conditions is None else _find_condition_problem(conditions)


def _find_condition_problem(conditions: object) -> str | None:
    if not isinstance(conditions, Mapping):
        return f"conditions must be a mapping, not {conditions!r}"
    values: dict[object, object] = dict(conditions)  # pyright: ignore[reportUnknownArgumentType] - checked below
    if unknown := sorted(str(each) for each in values if each not in _CONDITIONS):
        return f"unknown condition {unknown[0]!r}"
    window, channel, cost = values.get("time"), values.get("channel"), values.get("max_cost")
    if "time" in values and not (_is_list_of_texts(window) and len(window) == 2):
        return f"time must be two times HH:MM, not {window!r}"
    if "channel" in values and not (isinstance(channel, str) or (_is_list_of_texts(channel) and channel)):
        return f"channel must be a name or a list of names, not {channel!r}"
    if "max_cost" in values and (isinstance(cost, bool) or not isinstance(cost, int | float) or not cost >= 0):
        return f"max_cost must be an amount, not {cost!r}"
    return None


def _is_list_of_texts(value: object) -> TypeGuard[list[str] | tuple[str, ...]]:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)  # pyright: ignore[reportUnknownVariableType] - of object


_TIME: Final = lazy_pattern(r"([01][0-9]|2[0-3]):([0-5][0-9])|24:00")


def _parse_time(text: str, number: int) -> int:
    """Return the minutes since midnight; `24:00` is the end of the day."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise AclError(f"rule {number}: {text!r} is not a time HH:MM")
    return 24 * 60 if found[1] is None else 60 * int(found[1]) + int(found[2])
