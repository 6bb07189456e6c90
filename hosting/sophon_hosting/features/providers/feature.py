"""Feature declaration: model providers."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("providers", operations=["sophon_hosting.features.providers.operations"])
