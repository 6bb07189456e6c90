"""Feature declaration: the task queue and dead letters."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("queue", operations=["sophon_hosting.features.queue.operations"])
