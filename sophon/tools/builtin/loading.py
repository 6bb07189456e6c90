"""How a model gets at tools that were not offered to it."""

from sophon.context import Context
from sophon.errors import ToolError
from sophon.tools.tool import Risk, tool


@tool(risk=Risk.NONE, idempotent=True, tags=("tool", "tools", "capability", "capabilities"))
async def load_tools(ctx: Context, group: str) -> str:
    """Make the other tools of a group available when none of the offered ones fits. Groups that come built in: time,
    math, memory, files, web, system.

    Args:
        group: The name of a group.
    """
    groups = ctx.services.registry.groups()
    wanted = {name.casefold(): name for name in groups}.get(group.strip().casefold())
    if wanted is None:
        raise ToolError(f"there is no group {group!r}; the groups are {', '.join(groups) or 'none'}")
    tools = groups[wanted]
    # A list is the filter's choice for this turn, shared by its branches; otherwise everything is offered already.
    if isinstance(ctx.tools, list):
        offered = {tool.name for tool in ctx.tools}
        ctx.tools.extend(tool for tool in tools if tool.name not in offered)
    return f"Available now: {', '.join(tool.name for tool in tools)}."
