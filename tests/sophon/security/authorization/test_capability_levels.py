"""Capability levels: of the built-in tools, of known actions, and of everything else by its risk."""

from sophon.builtin_tools import builtin_tools
from sophon.risk import Risk
from sophon.security.action_types import find_action_type
from sophon.security.authorization.capability_levels import find_capability_level
from tests.tables import table


@table(
    ("action_type", "risk", "level"),
    [
        ("unknown", Risk.NONE, "safe"),
        ("unknown", Risk.LOW, "monitored"),
        ("unknown", Risk.MEDIUM, "controlled"),
        ("unknown", Risk.HIGH, "restricted"),
        ("unknown", Risk.CRITICAL, "privileged"),
        ("write_file", Risk.NONE, "restricted"),
        ("write_file", Risk.CRITICAL, "privileged"),
        ("execute_command", Risk.CRITICAL, "restricted"),
        ("execute_command", Risk.NONE, "restricted"),
        ("send_email", Risk.LOW, "controlled"),
    ],
)
def test_the_level_follows_the_action_and_the_risk(action_type: str, risk: Risk, level: str) -> None:
    assert find_capability_level(action_type, risk) == level


def test_the_levels_of_the_built_in_tools() -> None:
    levels = {tool.name: find_capability_level(find_action_type(tool.name), tool.risk) for tool in builtin_tools()}
    assert {name: levels[name] for name in ("files.read", "files.write", "system.execute", "memory.write")} == {
        "files.read": "monitored",
        "files.write": "restricted",
        "system.execute": "restricted",
        "memory.write": "controlled",
    }
