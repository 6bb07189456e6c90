"""Feature declaration: traces of turns and replays."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature(
    "traces", operations=["sophon_hosting.features.traces.operations", "sophon_hosting.features.traces.replays"]
)
