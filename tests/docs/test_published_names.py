"""docs/glossary.md: what it says that the names of other systems are called here exists."""

import inspect
import re
from collections.abc import Mapping
from pathlib import Path

from sophon import Services, events
from sophon.builtin_tools.skills import skill_tools
from sophon.events import Event
from sophon.testing import FunctionModel
from sophon_hosting.features.registry import builtin_operations

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
SWITCHED_ON = {"CustomTools": {"Enabled": True}, "Tools": {"Variables": True}}


def read_names(page: str) -> Mapping[str, set[str]]:
    """Return the names of the last column by their kind."""
    found: dict[str, set[str]] = {"tool": set(), "event": set(), "route": set()}
    section = page.split("## Names of published systems", 1)[1]
    for row in re.findall(r"^\| [A-Z]\w+ \|.*\|(.*)\|$", section, re.MULTILINE):
        for kind, names in re.findall(r"\b(tool|event|route)s? ((?:`[^`]+`(?:, )?)+)", row):
            found[kind].update(re.findall(r"`([^`]+)`", names))
    return found


def existing_names(folder: Path) -> Mapping[str, set[str]]:
    """Return the names of the code by their kind."""
    services = Services(models=FunctionModel(lambda _: ""), settings=SWITCHED_ON, folder=folder)
    kinds = [each for _, each in inspect.getmembers(events, inspect.isclass) if issubclass(each, Event)]
    return {
        "tool": {each.name for each in (*services.registry, *skill_tools())},
        "event": {each.wire_name for each in kinds if each is not Event},
        "route": {f"{each.method} {each.path}" for each in builtin_operations().operations},
    }


def test_every_name_of_ours_exists(tmp_path: Path) -> None:
    said, existing = read_names(GLOSSARY.read_text()), existing_names(tmp_path)
    assert {kind: sorted(names - existing[kind]) for kind, names in said.items()} == {
        kind: [] for kind in ("tool", "event", "route")
    }
    assert len(said["tool"]) > 15
    assert {"memory_flush", "skills_offered"} <= said["event"]


def test_a_name_that_does_not_exist_is_found(tmp_path: Path) -> None:
    page = GLOSSARY.read_text().replace("tool `memory.graph`", "tool `memory.grpah`")
    assert "memory.grpah" in read_names(page)["tool"] - existing_names(tmp_path)["tool"]
