"""The section of a system prompt that lists the agents to whom a turn can give tasks."""

from collections.abc import Sequence
from typing import Final

from sophon.agents.definition import AgentDefinition
from sophon.tools.untrusted_text import FENCING_INSTRUCTIONS

MAX_LISTED: Final = 40
MAX_LISTED_CHARACTERS: Final = 300
"""Beginning of a description that is listed."""


def build_agent_prompt(agent: AgentDefinition) -> str:
    """Return the system prompt of an agent: its own, then the rule that external text is data."""
    return f"{agent.prompt}\n\n{FENCING_INSTRUCTIONS}"


def build_agents_section(agents: Sequence[AgentDefinition]) -> str:
    """Return the section; the further agents are only named."""
    lines = [f"- {each.name}: {each.description[:MAX_LISTED_CHARACTERS]}" for each in agents[:MAX_LISTED]]
    further = ", ".join(each.name for each in agents[MAX_LISTED:])
    return "\n".join(
        [
            "# Agents",
            "With agents.run you can give a task to one of these agents, which does not see this conversation:",
            *lines,
            *([f"Further agents: {further}"] if further else []),
        ]
    )
