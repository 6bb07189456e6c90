"""Retention of traces: as long as `Retention.Traces` says."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sophon_hosting.settings.retention import RetentionSettings

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def delete_old_traces(swept: "SweptStore") -> Mapping[str, int]:
    """Delete old traces."""
    days = swept.settings.section(RetentionSettings).traces
    return {} if days is None else {"traces": await swept.store.traces.expire(swept.before(days))}
