"""Installed plug-ins: the groups of their entry points, and the tools that they bring.

    sophon.tools         a Tool, a list of Tools, or a module that contains some; registered after the user's own tools
    sophon.models        a function that returns a model; the entry point's name is a provider's `Type`
    sophon.middlewares   a chain factory (Services -> Pipeline); the entry point's name is a `Chain.Name`

The host reads the groups `sophon.channels` and `sophon.queues`.
"""

from collections.abc import Iterable
from types import ModuleType
from typing import cast

from sophon.entry_points import describe_entry_point, find_entry_points, load_entry_point
from sophon.errors import SettingsError
from sophon.tools.tool import Tool

TOOLS_GROUP = "sophon.tools"
MODELS_GROUP = "sophon.models"
MIDDLEWARES_GROUP = "sophon.middlewares"


def load_installed_tools() -> list[Tool]:
    """Load the tools of all installed distributions, ordered by entry-point name. Raises SettingsError."""
    tools: dict[int, Tool] = {}
    problems: list[str] = []
    for _, entry in sorted(find_entry_points(TOOLS_GROUP).items()):
        try:
            found = _collect_tools(load_entry_point(entry))
        except SettingsError as error:
            problems += error.problems
            continue
        if not found:
            problems.append(f"{describe_entry_point(entry)} contains no @tool")
        tools |= {id(each): each for each in found}
    if problems:
        raise SettingsError(problems)
    return list(tools.values())


def _collect_tools(value: object) -> list[Tool]:
    if isinstance(value, Tool):
        return [value]
    if isinstance(value, ModuleType):
        value = vars(value).values()
    every = cast("Iterable[object]", value) if isinstance(value, Iterable) else ()
    return [each for each in every if isinstance(each, Tool)]
