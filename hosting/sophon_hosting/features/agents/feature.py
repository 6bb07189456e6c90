"""Feature declaration: agents and sub-agents."""

from typing import Final

from sophon_hosting.features.agents.retention import delete_finished_sub_agents
from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature(
    "agents",
    page="agents.md",
    operations=["sophon_hosting.features.agents.operations"],
    sweep=delete_finished_sub_agents,
)
