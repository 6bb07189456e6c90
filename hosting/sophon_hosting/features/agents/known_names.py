"""Names that definitions of agents may use on this machine: tools, chains and models of the settings."""

from collections.abc import Iterator

from sophon._python.front_matter import FileProblem
from sophon.agents.catalog import AgentSet
from sophon.agents.unknown_names import KnownNames, find_unknown_names
from sophon.builtin_tools.agents import agent_tools
from sophon.builtin_tools.custom_tool_management import refresh_custom_tools
from sophon.errors import NotFound
from sophon.services import Services
from sophon_hosting.features.registry import list_feature_tools
from sophon_hosting.host_chain import list_chain_names


def find_name_problems(services: Services, found: AgentSet) -> list[FileProblem]:
    """Return a problem for each model, chain and tool in the definitions that there is not. Blocks."""
    return list(find_unknown_names(found, list_known_names(services)))


def list_known_names(services: Services) -> KnownNames:
    """Return the names of this machine. Of MCP servers the ids alone: only a running host knows their tools."""

    def find_model_problem(name: str) -> str:
        try:
            services.gateway.find(name)
        except NotFound as error:
            return str(error)
        return ""

    return KnownNames(
        tools=frozenset(_list_tools(services)),
        chains=list_chain_names(),
        find_model_problem=find_model_problem,
        servers=[prefix for _, prefix in services.settings.list_tool_prefixes()],
    )


def _list_tools(services: Services) -> Iterator[str]:
    if services.assistant.custom_tools is not None:
        refresh_custom_tools(services.toolbox, services.assistant.custom_tools, services.settings.tools.disabled)
    yield from (tool.name for tool in services.registry)
    yield from (tool.name for tool in agent_tools())
    yield from (tool.name for tool in list_feature_tools(services))
    yield from ("load_tools", "load_skills", "read_skill_file", "chat.send_file")
    if services.assistant.skills is not None:
        for package in services.assistant.skills.read().enabled.values():
            if package.manifest is not None:
                yield from (f"{package.name}.{tool.name}" for tool in package.manifest.tools)
