"""Action types of a tool by its name and by what it declares: where the two differ, the name grants nothing."""

from collections.abc import Mapping
from typing import Any, Final

from sophon.risk import Risk
from sophon.security.action_types import ACTION_TYPES, find_action_type
from sophon.security.assessed_arguments import has_command
from sophon.security.information_flow.sinks import READING_TYPES
from sophon.tools.tool import Tool

UNKNOWN_TYPE: Final = ""
"""Action type of a tool that no rule is about."""


def is_built_in(tool: Tool) -> bool:
    """Return whether a tool is defined by the framework itself; one that it makes from a program or server is not."""
    function = tool.function
    return getattr(function, "__module__", "").startswith("sophon.builtin_tools.") and "<locals>" not in getattr(
        function, "__qualname__", "<locals>"
    )


def acts_despite_name(tool: Tool) -> bool:
    """Return whether a tool is named after an action that only reads, and declares Medium risk or above."""
    return tool.risk >= Risk.MEDIUM and find_action_type(tool.name) in READING_TYPES and not is_built_in(tool)


def contradicts_name(tool: Tool) -> bool:
    """Return whether what a tool declares contradicts the action type of its name.

    The action types are about this host, where an `external` tool of one's own does not work. The built-in tools are
    known: they declare what their rules expect.
    """
    return acts_despite_name(tool) or (tool.external and not is_built_in(tool))


def find_trusted_action_type(tool: Tool | None) -> str:
    """Return the action type by which a rule may allow more than it does for an unknown tool."""
    return UNKNOWN_TYPE if tool is None or contradicts_name(tool) else find_action_type(tool.name)


def list_action_types(tool_name: str, tool: Tool | None, arguments: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return the action types by which a call must be judged, the strictest judgement decides: that of the name, and if
    the tool contradicts it that of an unknown tool; with `arguments` that have a command, also that of a command.
    """
    named = find_action_type(tool_name)
    types: tuple[str, ...] = (named,)
    if tool is not None and named in ACTION_TYPES and contradicts_name(tool):
        types = (named, UNKNOWN_TYPE)
    if arguments is not None and named != "execute_command" and has_command(arguments):
        types = (*types, "execute_command")
    return types
