"""Feature declaration: routing and learning."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature(
    "learning", operations=["sophon_hosting.features.learning.routing", "sophon_hosting.features.learning.trajectories"]
)
