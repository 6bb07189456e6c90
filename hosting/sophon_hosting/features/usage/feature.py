"""Feature declaration: usage and cost."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("usage", operations=["sophon_hosting.features.usage.operations"])
