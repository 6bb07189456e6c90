"""Entries in the settings and definitions of agents that have no effect: their names refer to nothing."""

from collections.abc import Collection, Iterator

from sophon.agents.catalog import AgentSet
from sophon.principals import MAIN_AGENT
from sophon.settings.sections.agents import AgentsSettings
from sophon.settings.validation_errors import suggest_nearest


def find_reference_problems(settings: AgentsSettings, found: AgentSet, disabled: Collection[str] = ()) -> Iterator[str]:
    """Yield a problem for each agent of `Agents.Channels` that there is not, each place that several agents claim in
    their definitions, and each agent whose tools are all in `Tools.Disabled`.
    """
    known = (MAIN_AGENT, *found.agents)
    for place, name in settings.channels.items():
        if name not in known:
            yield f"Agents.Channels.{place}: there is no agent {name!r}{suggest_nearest(name, known)}"
    claimed: dict[str, str] = {}
    for name, agent in sorted(found.agents.items()):
        for place in agent.channels:
            first = claimed.setdefault(place, name)
            if first != name and place not in settings.channels:
                yield f"{agent.path}: the messages of {place!r} go to {first!r}, whose name comes first"
        if agent.tools and all(tool in disabled for tool in agent.tools):
            yield f"{agent.path}: all of its tools are in Tools.Disabled"
