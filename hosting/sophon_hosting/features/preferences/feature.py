"""Feature declaration: preferences of a person."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature(
    "preferences", page="preferences.md", operations=["sophon_hosting.features.preferences.operations"]
)
