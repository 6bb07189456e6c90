"""Feature declaration: guards: the policy and the audit log."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature(
    "guards", operations=["sophon_hosting.features.guards.operations", "sophon_hosting.features.guards.audit"]
)
