"""Capability levels: how much a tool may do, from `safe` to `privileged`; limits of use are set per level.

The names and the levels of known actions are those of WASP (reference/wasp.md 4.5).
"""

from typing import Final, Literal, TypeAlias

from sophon.risk import Risk

CapabilityLevel: TypeAlias = Literal["safe", "monitored", "controlled", "restricted", "privileged"]

_LEVELS: Final[tuple[CapabilityLevel, ...]] = ("safe", "monitored", "controlled", "restricted", "privileged")

_AT_LEAST: Final[dict[str, CapabilityLevel]] = {
    **dict.fromkeys(("execute_command", "http_request"), "restricted"),
    **dict.fromkeys(("write_file", "delete_file", "move_file", "copy_file", "archive_extract"), "restricted"),
    **dict.fromkeys(("delete_directory", "move_directory", "copy_directory", "spreadsheet_write"), "restricted"),
    **dict.fromkeys(("send_email", "send_message", "git_push"), "controlled"),
    **dict.fromkeys(("create_schedule", "delete_schedule", "memory_write"), "controlled"),
    **dict.fromkeys(("create_event", "update_event", "delete_event", "create_agent", "delete_agent"), "controlled"),
}
"""Action type -> the least level of a tool of this type, whatever risk it declares."""

_AT_MOST: Final[dict[str, CapabilityLevel]] = {"execute_command": "restricted"}


def find_capability_level(action_type: str, risk: Risk) -> CapabilityLevel:
    """Return the level of a tool by its action type and risk.

    Of an unknown action type the risk decides: none is `safe`, low `monitored`, medium `controlled`, high `restricted`
    and critical `privileged`.
    """
    level = max(int(risk), _LEVELS.index(_AT_LEAST.get(action_type, "safe")))
    highest = _AT_MOST.get(action_type)
    return _LEVELS[level if highest is None else min(level, _LEVELS.index(highest))]
