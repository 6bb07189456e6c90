"""Dangerous settings of permissions: rules that nobody applies, and rules that deny nothing."""

from collections.abc import Iterator

from sophon.security.permission_levels import Level
from sophon.settings.danger_catalog import DangerousSetting
from sophon.settings.root import Settings

_EVERY_TOOL = frozenset({"*", "tool:*"})


def find_dangerous_permissions(settings: Settings) -> Iterator[DangerousSetting]:
    """Yield the dangerous settings of `Guards.Authorization` and `Permissions`."""
    guard, levels = settings.guards.authorization, settings.permissions.levels
    restricts = settings.permissions.restricts_tools
    if not guard.enabled and (restricts or guard.rules):
        yield DangerousSetting(
            "unused_permissions",
            "Guards.Authorization.Enabled false",
            "rules or permission levels are set, and no tool call is checked against them",
            "remove it, or set it to true",
        )
    if guard.enabled and not restricts and not guard.rules:
        yield DangerousSetting(
            "authorization_without_rules",
            "Guards.Authorization without rules",
            "everybody has the level User or Admin, both may use every tool, so that nothing is denied",
            "set Permissions.Levels.User.Tools, or add Guards.Authorization.Rules",
        )
    for index, rule in enumerate(guard.rules):
        if rule.effect == "Allow" and rule.principal == "*" and rule.resource in _EVERY_TOOL and not rule.conditions:
            yield DangerousSetting(
                "allow_everything",
                f"Guards.Authorization.Rules[{index}]",
                "it allows every tool to everybody, whatever their level is",
                "name the principals and the tools",
            )
    if "*" in levels.list_tools(Level.ZERO_TRUST):
        yield DangerousSetting(
            "zero_trust_may_all",
            "Permissions.Levels.ZeroTrust.Tools *",
            "people who are not trusted may use every tool",
            "name the tools",
        )
