"""Feature declaration: model providers."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("providers", page="models.md", operations=["sophon_hosting.features.providers.operations"])
