"""Plug-ins: entry points of installed distributions, by group.

    sophon.tools         a Tool, a list of Tools, or a module that contains some; registered after the user's own tools
    sophon.models        a function that returns a model; the entry point's name is a provider's `Type`
    sophon.middlewares   a chain factory (Services -> Pipeline); the entry point's name is a `Chain.Name`

The host reads the groups `sophon.channels` and `sophon.queues`.
"""

from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, cast

from sophon.errors import SettingsError
from sophon.tools.tool import Tool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

TOOLS_GROUP = "sophon.tools"
MODELS_GROUP = "sophon.models"
MIDDLEWARES_GROUP = "sophon.middlewares"


def find_entry_points(group: str) -> "dict[str, EntryPoint]":
    """Return the entry points of a group by name; of two with the same name the first that Python finds."""
    from importlib.metadata import entry_points  # lazy: a chain in one's own process has no plug-ins

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found


def load_entry_point(entry: "EntryPoint") -> object:
    """Load the object of an entry point. Raises SettingsError that names the entry point and its distribution."""
    try:
        return entry.load()
    except Exception as error:
        raise SettingsError([f"{_describe(entry)} cannot be loaded: {type(error).__name__}: {error}"]) from error


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
            problems.append(f"{_describe(entry)} contains no @tool")
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


def _describe(entry: "EntryPoint") -> str:
    distribution = f" of {entry.dist.name}" if entry.dist is not None else ""
    return f"the entry point {entry.name!r} in {entry.group}{distribution}"
