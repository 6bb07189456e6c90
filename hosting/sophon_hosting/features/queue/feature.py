"""Feature declaration: the task queue and dead letters."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("queue", page="queues.md", operations=["sophon_hosting.features.queue.operations"])
