"""Tools that were not offered, and how a model gets at them."""

from dataclasses import replace

import pytest

from sophon import Context, Services
from sophon.builtin_tools.tool_loading import MAX_NAMED_TOOLS, list_groups, load_tools
from sophon.errors import ToolError
from sophon.messages import ToolCall
from sophon.tools import tool
from sophon.tools.registry import ToolRegistry


async def test_a_group_is_added_to_what_the_turn_is_offered(services: Services, ctx: Context) -> None:
    ctx.tools = [services.registry.find("datetime.now"), services.registry.find("files.read")]
    said = await load_tools.invoke({"group": " Files "}, ctx)
    assert said == "Available now: files (files.list, files.read, files.write)."
    assert [tool.name for tool in ctx.tools] == ["datetime.now", "files.read", "files.list", "files.write"]


async def test_several_groups_are_merged_once_and_those_that_are_not_there_are_told(ctx: Context) -> None:
    ctx.tools = []
    said = await load_tools.invoke({"groups": ["web", "math", "Web", "mail"], "group": "math"}, ctx)
    names = [tool.name for tool in ctx.tools]
    assert (names, names[-1]) == ([*dict.fromkeys(names)], "calculator")
    begin = "Available now: math (calculator); web (http.request, http.send); there is no group 'mail'; the groups are "
    assert said.startswith(f"{begin}files (files.list, files.read, files.write); math (calculator); ")


def test_the_description_lists_the_groups_that_are_there() -> None:
    @tool(group="garden")
    def water() -> None:
        """Water the plants."""

    found = ToolRegistry([load_tools, water]).find("load_tools")
    assert found.definition["description"].endswith("Groups: garden (water).")


def test_a_tool_without_a_group_is_listed_and_loaded_as_one_of_other() -> None:
    @tool
    def get_weather(city: str) -> str:
        """Get the weather of a city."""
        return city

    registry = ToolRegistry([get_weather, load_tools])
    assert registry.find("load_tools").description.endswith("Groups: other (get_weather).")
    assert registry.loadable_groups() == {"other": [get_weather]}


def test_the_list_does_not_depend_on_the_order_and_is_short_for_very_many_tools() -> None:
    groups = {"b": [f"b{n:03}" for n in range(500)], "a": ["a2", "a1"], "c": [f"c{n}" for n in range(40)]}
    listed = list_groups(groups)
    assert listed == list_groups(dict(reversed([(name, tools[::-1]) for name, tools in groups.items()])))
    assert listed.startswith("a (a1, a2); b (b000, b001, ")
    assert ", 442 more); c (" in listed
    assert sum(len(part.split(", ")) for part in listed.split("; ")) <= MAX_NAMED_TOOLS + 2


def test_a_group_of_which_no_name_may_be_told_is_listed_all_the_same(services: Services) -> None:
    custom = replace(services.registry.find("calculator"), name="custom.double", group="custom", owner="ada")
    assert ToolRegistry([load_tools, custom]).find("load_tools").description.endswith("Groups: custom.")


def test_a_message_with_the_name_of_a_tool_does_not_fit_the_one_that_lists_it(services: Services) -> None:
    assert "load_tools" not in services.registry.relevance.score_tools("calculator")


async def test_no_group_is_an_error(ctx: Context) -> None:
    with pytest.raises(
        ToolError,
        match=r"^name a group; the groups are files \(files.list, files.read, files.write\); math",
    ):
        await load_tools.invoke({}, ctx)


async def test_what_a_branch_loads_the_turn_has(services: Services, ctx: Context) -> None:
    ctx.tools = []
    await load_tools.invoke({"group": "math"}, ctx.for_call(ToolCall(id="1", name="load_tools", arguments={})))
    assert [tool.name for tool in ctx.tools] == ["calculator"]


async def test_without_a_filter_everything_is_offered_already(services: Services, ctx: Context) -> None:
    assert "system.execute" in await load_tools.invoke({"group": "system"}, ctx)
    assert ctx.tools is services.registry.tools


async def test_an_unknown_group_lists_those_that_exist(ctx: Context) -> None:
    with pytest.raises(ToolError, match=r"no group 'mail'; the groups are files \(files.list"):
        await load_tools.invoke({"group": "mail"}, ctx)
