"""Settings of the host itself; those of a feature stand in its folder."""

from typing import Final

SETTINGS: Final = (
    "sophon_hosting.settings.queue:QueueSettings",
    "sophon_hosting.settings.retention:RetentionSettings",
    "sophon_hosting.settings.telemetry:TelemetrySettings",
    "sophon_hosting.settings.hub:HubSettings",
    "sophon_hosting.settings.logging:LoggingSettings",
    "sophon_hosting.settings.channels:ChannelsSettings",
)
"""Sections directly below `Sophon`."""
