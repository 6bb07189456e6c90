"""Feature declaration: agents and sub-agents."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("agents", page="agents.md", operations=["sophon_hosting.features.agents.operations"])
