"""Tools that were not offered, and how a model gets at them."""

import pytest

from sophon import Context, Services
from sophon.builtin_tools.tool_loading import load_tools
from sophon.errors import ToolError
from sophon.messages import ToolCall
from sophon.tools import tool
from sophon.tools.registry import ToolRegistry


async def test_a_group_is_added_to_what_the_turn_is_offered(services: Services, ctx: Context) -> None:
    ctx.tools = [services.registry.find("datetime.now"), services.registry.find("files.read")]
    said = await load_tools.invoke({"group": " Files "}, ctx)
    assert said == "Available now: files.read, files.list, files.write."
    assert [tool.name for tool in ctx.tools] == ["datetime.now", "files.read", "files.list", "files.write"]


async def test_several_groups_are_merged_once_and_those_that_are_not_there_are_told(ctx: Context) -> None:
    ctx.tools = []
    said = await load_tools.invoke({"groups": ["web", "math", "Web", "mail"], "group": "math"}, ctx)
    names = [tool.name for tool in ctx.tools]
    assert (names, names[-1]) == ([*dict.fromkeys(names)], "calculator")
    assert said.startswith(f"Available now: {', '.join(names)}; there is no group 'mail'; the groups are time, ")


def test_the_description_lists_the_groups_that_are_there() -> None:
    @tool(group="garden")
    def water() -> None:
        """Water the plants."""

    found = ToolRegistry([load_tools, water]).find("load_tools")
    assert found.definition["description"].endswith("Groups: garden.")


async def test_no_group_is_an_error(ctx: Context) -> None:
    with pytest.raises(ToolError, match=r"^name a group; the groups are time, memory"):
        await load_tools.invoke({}, ctx)


async def test_what_a_branch_loads_the_turn_has(services: Services, ctx: Context) -> None:
    ctx.tools = []
    await load_tools.invoke({"group": "math"}, ctx.branch(ToolCall(id="1", name="load_tools", arguments={})))
    assert [tool.name for tool in ctx.tools] == ["calculator"]


async def test_without_a_filter_everything_is_offered_already(services: Services, ctx: Context) -> None:
    assert "system.execute" in await load_tools.invoke({"group": "system"}, ctx)
    assert ctx.tools is services.registry.tools


async def test_an_unknown_group_lists_those_that_exist(ctx: Context) -> None:
    with pytest.raises(ToolError, match="no group 'mail'; the groups are time, memory, math, files, web, system"):
        await load_tools.invoke({"group": "mail"}, ctx)
