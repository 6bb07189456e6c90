"""Feature declaration: approvals and grants."""

from typing import Final

from sophon_hosting.features.approvals.retention import delete_ended_grants
from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature(
    "approvals",
    page="channels.md#approvals",
    operations=["sophon_hosting.features.approvals.operations", "sophon_hosting.features.approvals.grant_operations"],
    sweep=delete_ended_grants,
)
