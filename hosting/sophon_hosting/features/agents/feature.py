"""Feature declaration: agents and sub-agents."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sophon_hosting.features.feature import Feature
from sophon_hosting.settings.retention import RetentionSettings

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def _sweep(swept: "SweptStore") -> Mapping[str, int]:
    """Delete the sub-agents of finished tasks with these."""
    days = swept.settings.section(RetentionSettings).runs
    return {} if days is None else {"sub_agents": await swept.store.sub_agents.expire(swept.before(days))}


FEATURE: Final = Feature(
    "agents", page="agents.md", operations=["sophon_hosting.features.agents.operations"], sweep=_sweep
)
