"""Access control list: default deny, a deny wins, conditions, roles, and rules that cannot be read."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from sophon.security.authorization.access_control import Acl, AclError
from tests.tables import table

NOON = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)


def rule(effect: str = "allow", **other: Any) -> dict[str, Any]:
    return {"principal": "ann", "resource": "tool:files.read", "action": "execute", "effect": effect, **other}


def test_without_a_rule_everything_is_denied_but_to_the_system() -> None:
    acl = Acl([])
    assert not acl.allows("ann", "tool:files.read", "execute")
    assert acl.allows("system", "tool:files.read", "execute")


@table("rules", [[rule(), rule("deny")], [rule("deny"), rule()], [rule(), rule("deny", action="*")]])
def test_a_deny_wins_in_any_order(rules: list[dict[str, Any]]) -> None:
    assert not Acl(rules).allows("ann", "tool:files.read", "execute")
    assert not Acl(rules[:1]).allows("bob", "tool:files.read", "execute")


@table(
    ("pattern", "resource", "allowed"),
    [
        ("tool:files.*", "tool:files.read", True),
        ("tool:files.*", "tool:filesystem", False),
        ("*", "path:/etc", True),
        ("tool:files.read", "tool:files.read2", False),
        ("tool:files.read", "TOOL:FILES.READ", False),
    ],
)
def test_a_pattern_is_exact_or_a_prefix(pattern: str, resource: str, allowed: bool) -> None:
    assert Acl([rule(resource=pattern)]).allows("ann", resource, "execute") is allowed


@table(
    ("window", "clock", "allowed"),
    [
        (["09:00", "17:00"], "09:00", True),
        (["09:00", "17:00"], "16:59", True),
        (["09:00", "17:00"], "17:00", False),
        (["09:00", "17:00"], "08:59", False),
        (["22:00", "06:00"], "23:30", True),
        (["22:00", "06:00"], "05:59", True),
        (["22:00", "06:00"], "06:00", False),
        (["00:00", "24:00"], "23:59", True),
        (["12:00", "12:00"], "12:00", False),
    ],
)
def test_a_time_window_is_in_utc_and_its_end_exclusive(window: list[str], clock: str, allowed: bool) -> None:
    at = datetime.combine(NOON, datetime.strptime(clock, "%H:%M").time(), tzinfo=UTC)
    acl = Acl([rule(conditions={"time": window})])
    assert acl.allows("ann", "tool:files.read", "execute", at=at) is allowed
    other_zone = at.astimezone(timezone(timedelta(hours=-7)))
    assert acl.allows("ann", "tool:files.read", "execute", at=other_zone) is allowed
    assert acl.allows("ann", "tool:files.read", "execute", at=at.replace(tzinfo=None)) is allowed


@table(
    ("conditions", "known", "other"),
    [
        ({"time": ["09:00", "17:00"]}, {"at": NOON}, {"at": NOON + timedelta(hours=8)}),
        ({"channel": "telegram"}, {"channel": "telegram"}, {"channel": "web"}),
        ({"channel": ["web", "telegram"]}, {"channel": "web"}, {"channel": "whatsapp"}),
        ({"max_cost": 0.5}, {"cost": 0.5}, {"cost": 0.51}),
    ],
)
def test_what_is_unknown_meets_no_condition_of_an_allow_and_each_of_a_deny(
    conditions: dict[str, Any], known: dict[str, Any], other: dict[str, Any]
) -> None:
    asked = ("ann", "tool:files.read", "execute")
    allowing = Acl([rule(conditions=conditions)])
    denying = Acl([rule(), rule("deny", conditions=conditions)])
    assert allowing.allows(*asked, **known)
    assert not allowing.allows(*asked, **other)
    assert not allowing.allows(*asked)
    assert not denying.allows(*asked, **known)
    assert denying.allows(*asked, **other)
    assert not denying.allows(*asked)


def test_a_role_gives_its_rules_to_whoever_has_it() -> None:
    acl = Acl([rule(principal="role:editor"), rule("deny", principal="role:guest")])
    asked = "tool:files.read", "execute"
    assert acl.decide("ann", *asked, memberships=["role:editor"]).allowed
    assert not acl.decide("bob", *asked, memberships=["role:editor", "role:guest"]).allowed
    assert not acl.decide("editor", *asked).allowed


@table(
    ("bad", "words"),
    [
        (rule("permit"), "effect must be allow or deny"),
        (rule(conditions={"weekday": 1}), "unknown condition 'weekday'"),
        (rule(conditions={"time": ["9:00", "17:00"]}), "'9:00' is not a time"),
        (rule(conditions={"time": ["09:00"]}), "time must be two times"),
        (rule(conditions={"channel": []}), "channel must be"),
        (rule(conditions={"max_cost": True}), "max_cost must be"),
        (rule(conditions=[]), "conditions must be a mapping"),
        (rule(resource="a*b"), r"resource 'a\*b': \* may stand only at the end"),
        (rule(resource=""), "resource must be a text"),
        (rule(condition={}), "unknown key 'condition'"),
        ({"principal": "ann"}, "resource must be a text, not None"),
    ],
)
def test_a_rule_that_cannot_be_read_is_an_error_that_names_it(bad: dict[str, Any], words: str) -> None:
    with pytest.raises(AclError, match=f"rule 2: {words}"):
        Acl([rule(), bad])
