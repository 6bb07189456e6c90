"""Intent families: what a tool with effects does, found by its name. Source: WASP, Intent gate.

With which words people ask for it is in the grammars of `sophon.decisions.languages`.
"""

from collections.abc import Mapping
from typing import Final

from sophon.decisions.actions_taken import matches_any

FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "mail": ("mail.*", "gmail*", "email*", "*.send_mail", "*.send_email", "send_email", "send_mail"),
    "schedule_end": tuple(
        f"{tools}.{verb}*"
        for tools in ("schedules", "task_manager", "tasks", "reminders", "calendar")
        for verb in ("remove", "delete", "cancel", "pause", "stop")
    ),
    "schedule": ("schedules.*", "task_manager*", "tasks.*", "reminders.*", "calendar.*"),
    "agent": ("agents.*", "agent_manager*"),
    "goal": ("goals.*",),
    "file": ("files.*", "write_file", "delete_file", "move_file"),
    "command": ("system.execute", "shell*", "bash*", "python_exec*", "code.*"),
    "web": ("http.send", "http_request", "web_request"),
    "memory": ("memory.forget*",),
    "remember": ("memory.write",),
}
"""Names of tools by family, with `*`; the first family that fits counts."""


def find_family(tool: str) -> str:
    """Return the family of a tool, "" for one of none."""
    return next((name for name, tools in FAMILIES.items() if matches_any(tool, tools)), "")
