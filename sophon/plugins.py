"""What other installed distributions offer to Sophon, by entry-point group.

    sophon.tools         a Tool, a list of them, or a module that holds some: registered behind one's own
    sophon.models        a function that gives a model, named as a provider's `Type`
    sophon.middlewares   a chain factory (given the Services, gives the Pipeline), named as `Chain.Name`

The groups `sophon.queues` and `sophon.channels` are read by the host.
"""

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import cast

from sophon.errors import SettingsError
from sophon.tools.tool import Tool

TOOLS = "sophon.tools"
MODELS = "sophon.models"
MIDDLEWARES = "sophon.middlewares"


def offered(group: str) -> dict[str, EntryPoint]:
    """Name -> entry point; of two with one name the first that Python finds."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found


def loaded(entry: EntryPoint) -> object:
    """What an entry point stands for. Raises SettingsError, naming it and its distribution."""
    try:
        return entry.load()
    except Exception as error:
        raise SettingsError([f"{_named(entry)} cannot be loaded: {type(error).__name__}: {error}"]) from error


def installed_tools() -> list[Tool]:
    """The tools of all installed distributions, by the names of their entry points. Raises SettingsError."""
    tools: dict[int, Tool] = {}
    problems: list[str] = []
    for _, entry in sorted(offered(TOOLS).items()):
        try:
            found = _tools_in(loaded(entry))
        except SettingsError as error:
            problems += error.problems
            continue
        if not found:
            problems.append(f"{_named(entry)} gives no @tool")
        tools |= {id(each): each for each in found}
    if problems:
        raise SettingsError(problems)
    return list(tools.values())


def _tools_in(value: object) -> list[Tool]:
    if isinstance(value, Tool):
        return [value]
    if isinstance(value, ModuleType):
        value = vars(value).values()
    every = cast("Iterable[object]", value) if isinstance(value, Iterable) else ()
    return [each for each in every if isinstance(each, Tool)]


def _named(entry: EntryPoint) -> str:
    distribution = f" of {entry.dist.name}" if entry.dist is not None else ""
    return f"the entry point {entry.name!r} in {entry.group}{distribution}"
