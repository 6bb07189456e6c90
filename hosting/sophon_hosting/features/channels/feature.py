"""Feature declaration: operations on the channels of a host."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("channels", operations=["sophon_hosting.features.channels.operations"])
