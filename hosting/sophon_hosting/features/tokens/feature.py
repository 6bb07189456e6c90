"""Feature declaration: API tokens."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("tokens", operations=["sophon_hosting.features.tokens.operations"])
