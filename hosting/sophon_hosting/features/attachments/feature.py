"""Feature declaration: attachments of messages."""

from typing import Final

from sophon_hosting.features.attachments.retention import delete_unsent_files
from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature(
    "attachments",
    page="attachments.md",
    operations=["sophon_hosting.features.attachments.operations"],
    sweep=delete_unsent_files,
)
