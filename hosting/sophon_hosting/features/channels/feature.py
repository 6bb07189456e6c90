"""What a host has for channels: operations on those that it has."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("channels", operations=["sophon_hosting.features.channels.operations"])
