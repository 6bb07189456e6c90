"""Feature declaration: attachments of messages."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("attachments", operations=["sophon_hosting.features.attachments.operations"])
