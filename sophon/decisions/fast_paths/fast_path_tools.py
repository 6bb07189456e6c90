"""The tool of a family of fast paths: the one of its name, or another that says by a tag that it does the same.

Nothing built in sends mail, knows the weather or searches the web: a tool of one's own, or one of an MCP server, does.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from sophon.decisions.fast_paths.families import FastPathFamily

SYNONYMS: Final[Mapping[str, Sequence[str]]] = {
    "place": ("place", "location", "city", "q", "query"),
    "query": ("query", "q", "search", "search_query", "text"),
    "to": ("to", "recipient", "recipients", "to_address"),
    "subject": ("subject", "title"),
    "body": ("body", "text", "message", "content"),
    "count": ("count", "limit", "max_results", "top"),
}
"""Names that other tools give to the arguments of a family; the first that a tool has gets the value."""

_OPTIONAL: Final = frozenset({"count", "subject"})


class OfferedTool(Protocol):
    """What is known of a tool."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def tags(self) -> Sequence[str]:
        """Its tags."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of its arguments."""
        ...


T = TypeVar("T", bound=OfferedTool)


def find_tool(family: FastPathFamily, tools: Iterable[T]) -> T | None:
    """Return the tool that answers the family: the one of its name, else the first with its tag that takes its
    arguments; None without any.
    """
    tagged: T | None = None
    for tool in tools:
        if tool.name == family.tool:
            return tool
        if tagged is None and family.tag and family.tag in tool.tags and takes(tool, family.example):
            tagged = tool
    return tagged


def takes(tool: OfferedTool, names: Iterable[str]) -> bool:
    """Return whether a tool takes the arguments of these names, and needs no others."""
    return fit_arguments(tool, dict.fromkeys(names, "")) is not None


def fit_arguments(tool: OfferedTool, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the arguments under the names that the tool has for them; None if it lacks one, or needs another.

    Of a tool that takes a list, such as recipients, the list has the one value.
    """
    properties: Mapping[str, Any] = tool.parameters.get("properties") or {}
    fitted: dict[str, Any] = {}
    for name, value in arguments.items():
        own = next((each for each in SYNONYMS.get(name, (name,)) if each in properties and each not in fitted), None)
        if own is not None:
            fitted[own] = [value] if properties[own].get("type") == "array" else value
        elif name not in _OPTIONAL:
            return None
    return fitted if set(tool.parameters.get("required") or ()) <= fitted.keys() else None
