"""Approvals of tool calls, and approvals in advance (grants)."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "approvals": Command(
        "commands",
        "List pending approvals and decide them.",
        130,
        "[Approvals](tools.md#approvals) and [questions](guards.md#questions)",
    ),
    "grants": Command(
        "grant_commands",
        "List, show and revoke approvals in advance.",
        150,
        "[Approvals in advance](guards.md#approvals-in-advance)",
    ),
}
