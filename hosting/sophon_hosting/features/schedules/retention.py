"""Retention of schedules: finished ones are kept as long as runs."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.settings.retention import RetentionSettings

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def delete_finished_schedules(swept: "SweptStore") -> Mapping[str, int]:
    """Delete the schedules whose last firing was `Retention.Runs` days ago; return how many."""
    if (days := swept.settings.section(RetentionSettings).runs) is None:
        return {}
    return {"schedules": await stored_schedules(swept.store).expire(swept.now - timedelta(days=days))}
