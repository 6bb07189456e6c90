"""Feature declaration: traces of turns and replays."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sophon_hosting.features.feature import Feature
from sophon_hosting.settings.retention import RetentionSettings

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def _sweep(swept: "SweptStore") -> Mapping[str, int]:
    """Delete old traces."""
    days = swept.settings.section(RetentionSettings).traces
    return {} if days is None else {"traces": await swept.store.traces.expire(swept.before(days))}


FEATURE: Final = Feature(
    "traces",
    page="traces.md",
    operations=["sophon_hosting.features.traces.operations", "sophon_hosting.features.traces.replay_operations"],
    sweep=_sweep,
)
