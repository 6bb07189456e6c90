"""Feature declaration: usage and cost."""

from typing import Final

from sophon_hosting.features.feature import Feature
from sophon_hosting.features.usage.retention import delete_old_usage

FEATURE: Final = Feature("usage", operations=["sophon_hosting.features.usage.operations"], sweep=delete_old_usage)
