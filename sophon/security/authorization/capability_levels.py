"""Capability levels: how much a tool may do, from `safe` to `privileged`; limits of use are set per level.

The names and the levels of known actions are those of WASP (capability levels).
"""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias, get_args

from sophon.risk import Risk

CapabilityLevel: TypeAlias = Literal["safe", "monitored", "controlled", "restricted", "privileged"]

LEVELS: Final[tuple[CapabilityLevel, ...]] = get_args(CapabilityLevel)
"""The levels, the lowest first."""

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
    level = max(int(risk), LEVELS.index(_AT_LEAST.get(action_type, "safe")))
    highest = _AT_MOST.get(action_type)
    return LEVELS[level if highest is None else min(level, LEVELS.index(highest))]


def find_recorded_level(action_type: str, risk_label: str) -> str:
    """Return the level of a call by what a record says of it; "" without the label of a risk.

    Exports of the audit log have it beside the two values, and their verification compares it.
    """
    return find_capability_level(action_type, Risk.parse(risk_label)) if risk_label in _LABELS else ""


def list_conditions(level: str) -> Iterator[tuple[str, frozenset[str], bool]]:
    """Yield (label of a risk, action types, whether it is all others): what records of this level have."""
    special = frozenset({*_AT_LEAST, *_AT_MOST})
    for risk in Risk:
        yield risk.label, frozenset(each for each in special if find_capability_level(each, risk) == level), False
        if find_capability_level("", risk) == level:
            yield risk.label, special, True


_LABELS: Final = frozenset(each.label for each in Risk)
