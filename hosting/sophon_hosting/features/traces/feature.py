"""Feature declaration: traces of turns and replays."""

from typing import Final

from sophon_hosting.features.feature import Feature
from sophon_hosting.features.traces.retention import delete_old_traces

FEATURE: Final = Feature(
    "traces",
    page="traces.md",
    operations=["sophon_hosting.features.traces.operations", "sophon_hosting.features.traces.replay_operations"],
    sweep=delete_old_traces,
)
