"""Feature declaration: imports of conversations."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("imports", page="importing.md", operations=["sophon_hosting.features.imports.operations"])
