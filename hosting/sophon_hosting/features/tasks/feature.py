"""Feature declaration: tasks: messages that are sent, and their state."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature(
    "tasks", operations=["sophon_hosting.features.tasks.message_operations", "sophon_hosting.features.tasks.operations"]
)
