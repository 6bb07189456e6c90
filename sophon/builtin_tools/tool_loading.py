"""Built-in tool `load_tools`: offers the tools of a group that the tool filter left out."""

from sophon.context import Context
from sophon.errors import ToolError
from sophon.tools.tool import Risk, tool
from sophon.turn_permissions import filter_permitted


@tool(deferred=True, risk=Risk.NONE, idempotent=True, tags=("tool", "tools", "capability", "capabilities"))
async def load_tools(ctx: Context, group: str) -> str:
    """Make all tools of a group available when none of the offered ones fits. Built-in groups: time, math, memory,
    files, web, system.

    Args:
        group: The name of a group.
    """
    groups = ctx.services.registry.groups()
    wanted = {name.casefold(): name for name in groups}.get(group.strip().casefold())
    if wanted is None:
        raise ToolError(f"there is no group {group!r}; the groups are {', '.join(groups) or 'none'}")
    tools = filter_permitted(ctx, groups[wanted])
    if not tools:
        raise ToolError(f"the tools of the group {wanted!r} are not permitted in this conversation")
    # A list is the tool filter's selection, shared by the turn's branches; otherwise all tools are offered already.
    if isinstance(ctx.tools, list):
        offered = {tool.name for tool in ctx.tools}
        ctx.tools.extend(tool for tool in tools if tool.name not in offered)
    return f"Available now: {', '.join(tool.name for tool in tools)}."
