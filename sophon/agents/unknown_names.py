"""Models, chains and tools that agents name in their definitions and that do not exist: such an agent cannot work."""

import re
from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from sophon._python.front_matter import FileProblem
from sophon._python.lazy_dataclass import dataclass
from sophon.agents.catalog import AgentSet
from sophon.agents.definition import AgentDefinition
from sophon.settings.validation_errors import suggest_nearest

_WILDCARDS = "*?["


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What a definition may name. `servers` are MCP servers, whose tools are known only while they run: each name that
    may be one of theirs counts as known. `find_model_problem` returns why a model cannot be used, or "".
    """

    tools: Collection[str]
    chains: Collection[str]
    find_model_problem: Callable[[str], str]
    servers: Collection[str] = ()


def find_unknown_names(found: AgentSet, known: KnownNames) -> Iterator[FileProblem]:
    """Yield a problem for each model, chain and tool of a definition that is not known."""
    for agent in found.agents.values():
        for key, message in _find_problems(agent, known):
            yield FileProblem(agent.path, find_key_line(agent.path, key), message)


def _find_problems(agent: AgentDefinition, known: KnownNames) -> Iterator[tuple[str, str]]:
    if agent.model is not None and (problem := known.find_model_problem(agent.model)):
        yield "model", problem
    if agent.chain and agent.chain not in known.chains:
        yield "chain", f"there is no chain {agent.chain!r}{suggest_nearest(agent.chain, known.chains)}"
    for each in agent.tools or ():
        if not names_tool(each, known):
            yield "tools", f"there is no tool {each!r}{suggest_nearest(each, known.tools)}"


def names_tool(pattern: str, known: KnownNames) -> bool:
    """Return whether a name or glob is that of a known tool, or may be that of an MCP server's. Pure."""
    if any(pattern == name or fnmatchcase(name, pattern) for name in known.tools):
        return True
    literal = next((pattern[:at] for at, mark in enumerate(pattern) if mark in _WILDCARDS), None)
    prefixes = [f"{server}." for server in known.servers]
    if literal is None:
        return any(pattern.startswith(prefix) for prefix in prefixes)
    return any(literal.startswith(prefix) or prefix.startswith(literal) for prefix in prefixes)


def find_key_line(path: Path, key: str) -> int:
    """Return the line of a key in the front matter of a file, from 1; 0 if it is not found. Blocks."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return 0
    return next((number for number, line in enumerate(lines, 1) if re.match(rf"{re.escape(key)}\s*:", line)), 0)
