"""Dangerous settings of guards and permissions: what is not judged, and whom nothing is denied."""

from collections.abc import Iterator

from sophon.security.authorization.permission_levels import Level
from sophon.settings import Settings
from sophon_hosting.dangerous_settings.catalog import (
    DangerousSetting,
    find_guard_name,
    guard_danger_id,
    list_default_guards,
)
from sophon_hosting.settings.retention import RetentionSettings

MIN_AUDIT_DAYS = 7
"""Days below which an audit log is too short: an incident is often noticed after a weekend."""

_EFFECTS = {
    "audit": "nobody can tell afterwards which tools ran and who allowed it",
    "information_flow": "nobody can tell afterwards which data a session had read when it sent something",
    "integrity": "a call, or the script that it runs, can change between the approval and the run",
    "protection": "a tool may change the files that define the agent and control this host",
}
"""What the absence of a guard permits, by its field in `GuardsSettings`."""

_EVERY_TOOL = frozenset({"*", "tool:*"})


def find_in_guards(settings: Settings) -> Iterator[DangerousSetting]:
    """Yield the default guards that are off, and an audit log that is too short."""
    off = [field for field in list_default_guards() if not getattr(settings.guards, field).enabled]
    names = [find_guard_name(field) for field in off]
    if off and settings.approval.auto_approve_up_to in ("High", "Critical"):
        yield DangerousSetting(
            "auto_approve_without_guards",
            f"Approval.AutoApproveUpTo {settings.approval.auto_approve_up_to} without {', '.join(names)}",
            "a model uses tools of High risk, nobody is asked, and a guard that would block or ask is off",
            f"enable {', '.join(f'Guards.{name}' for name in names)}, or set AutoApproveUpTo to null or to Medium",
        )
    for field, name in zip(off, names, strict=True):
        effect = _EFFECTS.get(field, "tool calls are not judged by it")
        yield DangerousSetting(
            guard_danger_id(field), f"Guards.{name}.Enabled false", effect, "set it to true, or remove it"
        )
    days = settings.section(RetentionSettings).audit
    if settings.guards.audit.enabled and days is not None and days < MIN_AUDIT_DAYS:
        yield DangerousSetting(
            "short_audit",
            f"Retention.Audit {days}",
            "what happened last week is not in the audit log any more",
            f"set it to {MIN_AUDIT_DAYS} or more; the default is 30",
        )


def find_in_permissions(settings: Settings) -> Iterator[DangerousSetting]:
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
