"""Built-in tool `load_tools`: offers the tools of groups that the tool filter left out."""

from collections.abc import Iterable, Mapping, Sequence

from sophon.context import Context
from sophon.errors import ToolError
from sophon.tools.tool import Risk, Tool, tool
from sophon.turn_permissions import filter_permitted


def describe_groups(groups: Iterable[str]) -> str:
    """Return the description of `load_tools` for a registry with these groups; in a stable order, which is cached."""
    names = ", ".join(sorted(groups))
    return f"Make all tools of groups available when none of the offered ones fits. Groups: {names or 'none'}."


@tool(
    deferred=True,
    risk=Risk.NONE,
    idempotent=True,
    tags=("tool", "tools", "capability", "capabilities"),
    describe=describe_groups,
)
async def load_tools(ctx: Context, groups: list[str] | None = None, group: str | None = None) -> str:
    """Make all tools of groups available when none of the offered ones fits.

    Args:
        groups: Names of groups.
        group: The name of one group, instead of `groups`.
    """
    available = {name: filter_permitted(ctx, tools) for name, tools in ctx.services.registry.loadable_groups().items()}
    wanted = list(dict.fromkeys(name.strip().casefold() for name in [*(groups or ()), *([group] if group else ())]))
    known = {name.casefold(): name for name in available}
    found = [known[name] for name in wanted if name in known and available[known[name]]]
    faults = [_describe_fault(name, known, available) for name in wanted if known.get(name) not in found]
    tools = {tool.name: tool for name in found for tool in available[name]}
    if not tools:
        raise ToolError("; ".join(faults) or f"name a group; {_list_groups(available)}")
    _offer(ctx, tools.values())
    return "; ".join([f"Available now: {', '.join(tools)}", *faults]) + "."


def _offer(ctx: Context, tools: Iterable[Tool]) -> None:
    # A list is the tool filter's selection, shared by the turn's branches; otherwise all tools are offered already.
    if isinstance(ctx.tools, list):
        offered = {tool.name for tool in ctx.tools}
        ctx.tools.extend(tool for tool in tools if tool.name not in offered)


def _describe_fault(name: str, known: Mapping[str, str], available: Mapping[str, Sequence[Tool]]) -> str:
    if name in known:
        return f"the tools of the group {known[name]!r} are not permitted in this conversation"
    return f"there is no group {name!r}; {_list_groups(available)}"


def _list_groups(available: Mapping[str, Sequence[Tool]]) -> str:
    return f"the groups are {', '.join(name for name, tools in available.items() if tools) or 'none'}"
