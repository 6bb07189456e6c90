"""Retention of sub-agents: as long as the tasks in which they worked."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sophon_hosting.settings.retention import RetentionSettings

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def delete_finished_sub_agents(swept: "SweptStore") -> Mapping[str, int]:
    """Delete the sub-agents of finished tasks with these."""
    days = swept.settings.section(RetentionSettings).runs
    return {} if days is None else {"sub_agents": await swept.store.sub_agents.expire(swept.before(days))}
