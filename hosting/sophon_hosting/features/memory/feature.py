"""Feature declaration: long-term memory and the files of the workspace."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature(
    "memory", operations=["sophon_hosting.features.memory.operations", "sophon_hosting.features.memory.workspace"]
)
