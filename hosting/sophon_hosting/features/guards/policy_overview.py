"""Overview of what is allowed to whom: guards, approvals, tools, policy.

The web page, HTTP and `sophon policy` show the same.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import cast

from sophon.chain.pipeline import Pipeline
from sophon.security.authorization.permission_levels import FEATURES, Level
from sophon.security.policy import Policy
from sophon.services import Services
from sophon.settings import Settings
from sophon.settings.sections.permissions import EVERYONE
from sophon.tools.tool import Risk
from sophon_hosting.features.guards.results import (
    CallAccess,
    GuardView,
    PolicyOverview,
    RuleTableView,
    ToolAccess,
)
from sophon_middlewares.guards.guard_description import GuardDescription, RuleTable, describe_guards
from sophon_middlewares.inner.approval.approval import requires_approval
from sophon_middlewares.tool_calls.call_risk import find_tool_risk

ACCESS_TEXTS: Mapping[ToolAccess, str] = {
    "runs": "runs, nobody is asked",
    "asks": "a person is asked",
    "operator": "an operator must approve it",
}

MAX_SHOWN_PATHS = 40
"""Paths of a policy rule that are listed."""


def describe_policy(
    services: Services,
    chain: Pipeline,
    principal: str,
    *,
    is_operator: bool,
    operators: Collection[str] | None = None,
) -> PolicyOverview:
    """Return the overview as JSON. Rules and settings, which may name others, are for operators only.

    `operators` replaces those of the services, which know none outside of a host.
    """
    approval = services.settings.approval
    overview: PolicyOverview = {
        "guards": [guard_to_json(each, is_operator=is_operator) for each in describe_guards(chain, services)],
        "approval": approval.model_dump(mode="json", by_alias=True),
        "tools": [
            {
                "tool": each.name,
                "risk": each.risk.label,
                "access": find_access(services, find_tool_risk(each, approval), principal),
            }
            for each in services.registry
        ],
    }
    if is_operator:
        overview["operators"] = sorted(services.security.operator_policy.operators)
        named = services.security.operator_policy.operators if operators is None else operators
        overview["levels"] = _table_to_json(levels_table(services.settings, named))
        overview["policy"] = _table_to_json(policy_table(services.security.load_policy()))
    return overview


def find_access(services: Services, risk: Risk, principal: str) -> ToolAccess:
    """Return what happens to a call of this risk in a turn of the principal, if no guard blocks it."""
    if services.security.operator_policy.needs_operator(risk, principal):
        return "operator"
    return "asks" if requires_approval(risk, services.settings.approval, None) else "runs"


def describe_access(services: Services, tool: str, principal: str) -> CallAccess:
    """Return the risk of a tool and what happens to a call of it, both None for a name that is no tool, as JSON."""
    known = services.registry.get(tool)
    if known is None:
        return {"tool": tool, "risk": None, "access": None}
    return {"tool": tool, "risk": known.risk.label, "access": find_access(services, known.risk, principal)}


def guard_to_json(guard: GuardDescription, *, is_operator: bool) -> GuardView:
    """Return a guard as JSON; its settings and rules for operators only."""
    data: GuardView = {
        "name": guard.name,
        "setting": guard.setting,
        "enabled": guard.enabled,
        "enabled_by_default": guard.enabled_by_default,
        "position": guard.position,
        "does": guard.does,
    }
    if is_operator:
        data["settings"], data["rules"] = dict(guard.options), [_table_to_json(each) for each in guard.tables]
    return data


def levels_table(settings: Settings, operators: Collection[str]) -> RuleTable:
    """Return what each permission level may use, and who has it by name."""
    permissions = settings.permissions
    named = {*operators, *(each for each, entry in permissions.users.items() if entry.level is not None)}
    people: dict[Level, list[str]] = {level: [] for level in Level}
    for name in sorted(named):
        level = permissions.level_of(name, channel="hub", is_operator=name in operators)
        people[level].append("everybody else" if name == EVERYONE else name)
    rows = [
        (
            level.label,
            _list(permissions.levels.list_tools(level), "none"),
            _list([each for each in FEATURES if permissions.levels.allows(level, each)], "none"),
            _list(people[level], ""),
        )
        for level in Level
    ]
    return RuleTable("Levels", ("level", "tools", "features", "by name"), rows)


def policy_table(policy: Policy) -> RuleTable:
    """Return the rules of a policy as a table."""
    rows = [
        (
            each.group,
            each.name,
            _list(sorted(each.action_types or ()), "any"),
            _list(each.globs, "any"),
            _tier(each.tier),
        )
        for each in policy.rules
    ]
    return RuleTable("Policy", ("verdict", "rule", "actions", "paths", "tier"), rows)


def _table_to_json(table: RuleTable) -> RuleTableView:
    return cast(RuleTableView, table.to_json())


def _list(texts: Sequence[str], otherwise: str) -> str:
    shown = ", ".join(texts[:MAX_SHOWN_PATHS])
    return (f"{shown}, …" if len(texts) > MAX_SHOWN_PATHS else shown) or otherwise


def _tier(tier: int) -> str:
    return str(tier) if tier else ""
