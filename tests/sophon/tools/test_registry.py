"""Tools by name, by group and by likeness of their names."""

import dataclasses

import pytest

from sophon import Tool, ToolRegistry, tool
from sophon.errors import CompositionError, NotFound
from tests.tables import table


def named(name: str, group: str = "") -> Tool:
    @tool(name=name, group=group)
    async def act() -> None:
        """Do something."""

    return act


TOOLS = [named("files.read", "files"), named("mail.send", "mail"), named("files.write", "files"), named("alone")]


def test_the_order_of_registration_is_kept() -> None:
    registry = ToolRegistry(TOOLS)
    assert list(registry) == TOOLS
    assert registry.tools == tuple(TOOLS)
    assert len(registry) == 4


def test_a_tool_is_found_by_its_whole_name() -> None:
    registry = ToolRegistry(TOOLS)
    assert registry.find("mail.send") is TOOLS[1]
    assert registry.get("mail.send") is TOOLS[1]
    assert registry.get("mail") is None
    assert "mail.send" in registry
    assert "mail" not in registry


def test_an_unknown_name_comes_with_the_near_ones() -> None:
    with pytest.raises(NotFound, match=r"there is no tool 'file\.read'; did you mean 'files\.read' or 'files\.write'"):
        ToolRegistry(TOOLS).find("file.read")


def test_near_names_can_be_sought_among_some_tools_only() -> None:
    assert ToolRegistry(TOOLS).suggest_names("files.red", tools=TOOLS[2:]) == ["files.write"]
    assert ToolRegistry(TOOLS).suggest_names("zzz") == []


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(CompositionError, match=r"two tools are called 'a'"):
        ToolRegistry([named("a"), named("a")])


@table(("one", "other"), [("a.b", "a_b"), ("x" * 64 + "1", "x" * 64 + "2")])
def test_names_that_a_provider_cannot_tell_apart_are_refused(one: str, other: str) -> None:
    with pytest.raises(CompositionError, match="to a provider: rename one"):
        ToolRegistry([dataclasses.replace(named("x"), name=name) for name in (one, other)])


def test_groups_hold_their_tools_in_order_and_a_tool_without_one_is_in_none() -> None:
    assert ToolRegistry(TOOLS).groups() == {"files": [TOOLS[0], TOOLS[2]], "mail": [TOOLS[1]]}
