"""Guards: the audit log, and the rules of what is allowed."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "policy": Command(
        "policy_commands",
        "Show what is allowed, and try a tool call against the security rules.",
        60,
        "[Guards](guards.md)",
    ),
    "audit": Command(
        "audit_commands",
        "List, verify and export the audit log of tool calls.",
        260,
        "[Audit log](guards.md#audit) and [dangerous settings](trust-model.md#dangerous-settings)",
    ),
}
