"""Feature declaration: routing and learning."""

from typing import Final

from sophon_hosting.features.feature import Feature
from sophon_hosting.features.learning.retention import delete_old_trajectories

FEATURE: Final = Feature(
    "learning",
    page="learning.md",
    operations=[
        "sophon_hosting.features.learning.routing_operations",
        "sophon_hosting.features.learning.trajectory_operations",
    ],
    sweep=delete_old_trajectories,
)
