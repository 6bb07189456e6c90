"""Built-in tool `load_tools`: offers the tools of groups that the tool filter left out."""

from collections.abc import Iterable, Mapping, Sequence

from sophon.context import Context
from sophon.errors import ToolError
from sophon.tools.tool import Risk, Tool, tool
from sophon.turn.permissions import filter_permitted

MAX_NAMED_TOOLS = 100
"""Tools whose names are listed with the groups: about 600 tokens. Of more, each group shows the first ones."""


def describe_groups(groups: Mapping[str, Sequence[str]]) -> str:
    """Return the description of `load_tools` for a registry with these groups of tool names."""
    return f"Make all tools of groups available when none of the offered ones fits. Groups: {list_groups(groups)}."


def list_groups(groups: Mapping[str, Sequence[str]]) -> str:
    """Return the groups with the names of their tools, both sorted, so that a provider's prompt cache stays valid."""
    most = max(map(len, groups.values()), default=0)
    while most and sum(min(len(names), most) for names in groups.values()) > MAX_NAMED_TOOLS:
        most -= 1
    return "; ".join(_list_group(group, sorted(groups[group]), most) for group in sorted(groups)) or "none"


def _list_group(group: str, names: Sequence[str], most: int) -> str:
    shown = [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
    return f"{group} ({', '.join(shown)})" if shown else group


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
        raise ToolError("; ".join(faults) or f"name a group; {_describe_available(available)}")
    _offer(ctx, tools.values())
    return "; ".join([f"Available now: {_list_tools({name: available[name] for name in found})}", *faults]) + "."


def _offer(ctx: Context, tools: Iterable[Tool]) -> None:
    # A list is the tool filter's selection, shared by the turn's branches; otherwise all tools are offered already.
    if isinstance(ctx.tools, list):
        offered = {tool.name for tool in ctx.tools}
        ctx.tools.extend(tool for tool in tools if tool.name not in offered)


def _describe_fault(name: str, known: Mapping[str, str], available: Mapping[str, Sequence[Tool]]) -> str:
    if name in known:
        return f"the tools of the group {known[name]!r} are not permitted in this conversation"
    return f"there is no group {name!r}; {_describe_available(available)}"


def _describe_available(available: Mapping[str, Sequence[Tool]]) -> str:
    return f"the groups are {_list_tools({name: tools for name, tools in available.items() if tools})}"


def _list_tools(groups: Mapping[str, Sequence[Tool]]) -> str:
    return list_groups({group: [tool.name for tool in tools] for group, tools in groups.items()})
