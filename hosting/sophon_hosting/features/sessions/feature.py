"""Feature declaration: sessions: their list, histories and branches."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature(
    "sessions",
    operations=[
        "sophon_hosting.features.sessions.operations",
        "sophon_hosting.features.sessions.history",
        "sophon_hosting.features.sessions.branches",
    ],
)
