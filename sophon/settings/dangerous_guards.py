"""Dangerous settings of the guards: a default guard that is off, and calls that run unasked without one."""

from collections.abc import Iterator

from sophon.settings.danger_catalog import DangerousSetting, find_guard_name, guard_danger_id, list_default_guards
from sophon.settings.root import Settings

MIN_AUDIT_DAYS = 7
"""Days below which an audit log is too short: an incident is often noticed after a weekend."""

_EFFECTS = {
    "audit": "nobody can tell afterwards which tools ran and who allowed it",
    "information_flow": "nobody can tell afterwards which data a session had read when it sent something",
    "integrity": "a call, or the script that it runs, can change between the approval and the run",
    "protection": "a tool may change the files that define the agent and control this host",
}
"""What the absence of a guard permits, by its field in `GuardsSettings`."""


def find_in_guards(settings: Settings) -> Iterator[DangerousSetting]:
    """Yield the dangerous settings of the guards."""
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
    days = settings.retention.audit
    if settings.guards.audit.enabled and days is not None and days < MIN_AUDIT_DAYS:
        yield DangerousSetting(
            "short_audit",
            f"Retention.Audit {days}",
            "what happened last week is not in the audit log any more",
            f"set it to {MIN_AUDIT_DAYS} or more; the default is 30",
        )
