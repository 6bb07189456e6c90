"""Checks of a tool call before anybody is asked about it: parseable, offered, permitted, valid arguments."""

from collections.abc import Mapping
from typing import Any

from sophon.context import Context
from sophon.errors import InvalidArguments
from sophon.messages import ToolCall
from sophon.tools.registry import find_group
from sophon.tools.tool import Tool, to_wire_name
from sophon.turn.chat_overrides import CHAT_OVERRIDES
from sophon.turn.permissions import find_tool_permissions, is_owned_by_other

LOAD_TOOLS = "load_tools"
"""The tool that offers other tools; always callable, even if the filter withheld it."""


def find_call_error(ctx: Context, call: ToolCall, tool: Tool | None) -> str | None:
    """Return why a call cannot run, as a message for the model, before anybody is asked for approval; None if it
    can.
    """
    if call.malformed is not None:
        return f"this tool call could not be read: {call.malformed}"
    if tool is not None and tool.owner is not None and is_owned_by_other(ctx, tool):
        return f"there is no tool {call.name!r} in this conversation"
    overrides = ctx.root.get(CHAT_OVERRIDES)
    if tool is not None and overrides is not None and not overrides.allows(tool):
        return f"{call.name} may not be used in this chat"
    if tool is not None and (tool in ctx.tools or is_offered(ctx, tool)):
        return None if tool.find_problem is None else _find_problem(ctx, call, tool)
    if tool is not None and ctx.settings.guards.authorization.enabled:
        withheld = find_permission_error(ctx, tool)
        if withheld is not None:
            return withheld
    near = ctx.services.registry.suggest_names(call.name, ctx.tools)
    hint = f"; near names: {', '.join(near)}" if near else ""
    named = tool or _find_by_wire_name(ctx, call.name)
    if named is not None and (group := find_group(named)):
        hint += f"; {LOAD_TOOLS}(group={group!r}) would offer it"
    return f"there is no tool {call.name!r} in this conversation{hint}"


def _find_by_wire_name(ctx: Context, name: str) -> Tool | None:
    """Return the tool that a model means by the name that providers see; they translate only those of offered tools."""
    return next(
        (
            each
            for each in ctx.services.registry
            if to_wire_name(each.name) == name and not is_owned_by_other(ctx, each)
        ),
        None,
    )


def _find_problem(ctx: Context, call: ToolCall, tool: Tool) -> str | None:
    """Return what the tool itself says against a call with valid arguments; invalid ones are reported elsewhere."""
    if tool.find_problem is None or find_argument_error(tool, call.arguments) is not None:
        return None
    return tool.find_problem(ctx, call.arguments)


def find_permission_error(ctx: Context, tool: Tool) -> str | None:
    """Return why the principal of the turn may not use the tool, where permissions are enforced; None if they may.

    The guard Authorization says so first where it stands. A chain without it obeys the levels all the same.
    """
    permissions = find_tool_permissions(ctx)
    if permissions.decide(tool.name).allowed:
        return None
    return f"{permissions.principal or 'this turn'} (level {permissions.level.label}) may not use {tool.name}"


def offer_permitted(ctx: Context) -> None:
    """Leave out of the turn's tools those that its principal may not use."""
    permitted = find_tool_permissions(ctx).filter(ctx.tools)
    if len(permitted) < len(ctx.tools):
        # A list would be a selection, which `load_tools` extends; see `ToolFilter`.
        ctx.tools = permitted if isinstance(ctx.tools, list) else tuple(permitted)


def is_offered(ctx: Context, tool: Tool) -> bool:
    """Return whether the model may call the tool in this turn: it was offered, or it is `load_tools`."""
    return ctx.tools is ctx.services.registry.tools or tool in ctx.tools or tool.name == LOAD_TOOLS


def find_argument_error(tool: Tool, arguments: Mapping[str, Any]) -> InvalidArguments | None:
    """Return how the arguments violate the tool's schema; None if they are valid."""
    try:
        tool.schema.validate(tool.name, arguments)
    except InvalidArguments as error:
        return error
    return None
