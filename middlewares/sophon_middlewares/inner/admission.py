"""Whether a tool call can run at all, and whether it has leave to: the gate asks the one, the executor both."""

from collections.abc import Mapping
from typing import Any

from sophon.approvals import call_digest
from sophon.context import Context
from sophon.errors import InvalidArguments
from sophon.messages import ToolCall
from sophon.tools.tool import Risk, Tool

DOOR = "load_tools"
"""The tool that offers others; the filter may withhold it, but a model that knows of it may use it."""


def unusable(ctx: Context, call: ToolCall, tool: Tool | None) -> str | None:
    """What is wrong with a call before anybody is asked about it, in words for the model; None if nothing is."""
    if call.malformed is not None:
        return f"this tool call could not be read: {call.malformed}"
    if tool is not None and offered(ctx, tool):
        return None
    near = ctx.services.registry.near(call.name, ctx.tools)
    hint = f"; near names: {', '.join(near)}" if near else ""
    if tool is not None and tool.group:
        hint += f"; {DOOR}(group={tool.group!r}) would offer it"
    return f"there is no tool {call.name!r} in this conversation{hint}"


def ungranted(ctx: Context, call: ToolCall, tool: Tool) -> str | None:
    """Why a call of High risk or above must not run; None if it was approved exactly as it is, or needs no leave."""
    if tool.risk < Risk.HIGH:
        return None
    grant = ctx.grants.get(call.id)
    if grant is None:
        return f"{call.name} is of {tool.risk.label} risk and nobody has approved this call"
    if grant.digest != call_digest(ctx.run_id, call):
        return f"this call of {call.name} is not the one that was approved"
    return None


def offered(ctx: Context, tool: Tool) -> bool:
    """Whether the model may call the tool in this turn: it was offered it, or it is the way to be offered more."""
    return ctx.tools is ctx.services.registry.tools or tool in ctx.tools or tool.name == DOOR


def misfit(tool: Tool, arguments: Mapping[str, Any]) -> InvalidArguments | None:
    """How the arguments fail the tool's schema; None if they fit."""
    try:
        tool.schema.validate(tool.name, arguments)
    except InvalidArguments as error:
        return error
    return None
