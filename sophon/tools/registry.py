"""Tool registry: the tools of a process by name, in registration order."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from sophon.errors import CompositionError, NotFound
from sophon.tools.relevance import RelevanceIndex
from sophon.tools.tool import Tool, to_wire_name

OTHER_GROUP = "other"
"""Name under which tools without a group are loaded."""


class ToolRegistry:
    """Immutable registry of all tools that a turn can be offered; a turn may hold `tools` by reference.

    Raises CompositionError for two tools with the same name, or with names that are equal on the provider's wire.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        given = tuple(tools)
        # What belongs to one person is not told to the models of others.
        groups = {
            group: [tool.name for tool in found if tool.owner is None] for group, found in _group_tools(given).items()
        }
        self.tools: tuple[Tool, ...] = _describe_with_groups(given, groups)
        self._by_name: dict[str, Tool] = {}
        on_the_wire: dict[str, str] = {}
        for tool in self.tools:
            if tool.name in self._by_name:
                raise CompositionError(f"two tools are called {tool.name!r}: rename one with @tool(name=...)")
            wire = to_wire_name(tool.name)
            if wire in on_the_wire:
                raise CompositionError(
                    f"the tools {on_the_wire[wire]!r} and {tool.name!r} are both {wire!r} to a provider: rename one"
                )
            self._by_name[tool.name], on_the_wire[wire] = tool, tool.name
        self._described_alone = _describe_with_groups(given, dict.fromkeys(groups, ()))
        self.has_capped_tools = any(tool.max_calls_per_turn is not None for tool in self.tools)
        """Whether any tool has a `max_calls_per_turn`."""

    @cached_property
    def relevance(self) -> RelevanceIndex:
        """Index of the tools that fit a message. A tool that names the others fits none by their names."""
        return RelevanceIndex(self._described_alone)  # when a turn asks: a host adds its tools one by one

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._by_name.get(name)

    def find(self, name: str) -> Tool:
        """Return the tool of that name; raises NotFound with similar names."""
        tool = self._by_name.get(name)
        if tool is None:
            raise NotFound("tool", name, self.suggest_names(name))
        return tool

    def suggest_names(self, name: str, tools: Iterable[Tool] | None = None) -> list[str]:
        """Return up to three similar tool names, the most similar first."""

        names = [tool.name for tool in (self.tools if tools is None else tools)]
        return difflib.get_close_matches(name, names, n=3, cutoff=0.5)

    def groups(self) -> dict[str, list[Tool]]:
        """Return the tools of each named group, in registration order."""
        groups: dict[str, list[Tool]] = {}
        for tool in self.tools:
            if tool.group:
                groups.setdefault(tool.group, []).append(tool)
        return groups

    def loadable_groups(self) -> dict[str, list[Tool]]:
        """Return what `load_tools` offers by name: the groups, and the tools without one under `other`."""
        return _group_tools(self.tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name


def _describe_with_groups(tools: tuple[Tool, ...], groups: Mapping[str, Sequence[str]]) -> tuple[Tool, ...]:
    """Return the tools, each that `describe`s the groups with its description for these."""
    if all(tool.describe is None for tool in tools):
        return tools
    return tuple(tool if tool.describe is None else replace(tool, description=tool.describe(groups)) for tool in tools)


def _group_tools(tools: Iterable[Tool]) -> dict[str, list[Tool]]:
    """Return the tools by group; of those without one, the tool that describes the groups itself is in none."""
    groups: dict[str, list[Tool]] = {}
    for tool in tools:
        if group := find_group(tool):
            groups.setdefault(group, []).append(tool)
    return groups


def find_group(tool: Tool) -> str:
    """Return the group by which `load_tools` offers a tool; "" for `load_tools` itself."""
    return tool.group or (OTHER_GROUP if tool.describe is None else "")


class Toolbox:
    """The registry of the moment, shared by all views of one set of services; tools may come and go while they run.

    Tools of a source come after those that were registered; one whose name is taken is left out, and one that `accepts`
    does not accept. A turn that has begun keeps the tools that it has.
    """

    def __init__(self, registry: ToolRegistry, accepts: Callable[[Tool], bool] | None = None) -> None:
        self._base = self.registry = registry
        self._accepts = accepts
        self._extra: dict[str, tuple[Tool, ...]] = {}
        self.listeners: set[Callable[[], object]] = set()
        """Called after the tools have changed, by the thread that changed them."""
        self.versions: dict[str, object] = {}
        """What the tools of a source were made from, kept by who replaces them."""

    def add(self, tool: Tool) -> None:
        """Register a tool after the others, unless its name is taken."""
        if tool.name not in self._base:
            self._base = ToolRegistry([*self._base, tool])
            self._rebuild()

    def replace(self, source: str, tools: Iterable[Tool]) -> None:
        """Replace the tools of a source."""
        given = tuple(tool for tool in tools if self._accepts is None or self._accepts(tool))
        if given != self._extra.get(source, ()):
            self._extra[source] = given
            self._rebuild()

    def _rebuild(self) -> None:
        tools = {to_wire_name(tool.name): tool for tool in self._base}
        for source in self._extra.values():
            for tool in source:
                tools.setdefault(to_wire_name(tool.name), tool)
        self.registry = ToolRegistry(tools.values())
        for notify in tuple(self.listeners):
            notify()


def validate_tools(objects: Iterable[object]) -> list[Tool]:
    """Return the objects as a list; raises CompositionError that names the first one that is not a Tool."""
    tools: list[Tool] = []
    for each in objects:
        if not isinstance(each, Tool):
            name = getattr(each, "__name__", None) or type(each).__name__
            raise CompositionError(f"{name} is not a tool: put @tool above the function")
        tools.append(each)
    return tools
