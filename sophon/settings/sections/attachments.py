"""Settings section of attachments: files of messages."""

from typing import Annotated

from sophon._python.value_rules import ValueRules
from sophon.settings.types.field_types import Flag, WholeNumber
from sophon.settings.types.section import Field, SettingsSection

DEFAULT_MEDIA_TYPES = (
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "application/pdf",
    "text/plain",
    "text/markdown",
    "text/csv",
    "application/json",
)
"""What models can be shown: images, PDFs, text (source code, HTML and SVG are `text/plain`)."""

MAX_FILE_BYTES = 100_000_000
"""Upper bound of `MaxBytes`: a file is in memory while it is stored and sent."""


class AttachmentsSettings(SettingsSection):
    """Files of messages."""

    enabled: Flag = Field(default=True, description="Whether messages may have files.")
    max_bytes: WholeNumber = Field(
        default=20_000_000, ge=1, le=MAX_FILE_BYTES, description="Maximum size of one file, in bytes."
    )
    max_total_bytes: WholeNumber = Field(
        default=500_000_000, ge=1, description="Maximum size of all files of one person together, in bytes."
    )
    media_types: tuple[Annotated[str, ValueRules(pattern=r"^[a-z0-9.+-]+/[a-z0-9.+-]+$")], ...] = Field(
        default=DEFAULT_MEDIA_TYPES,
        description="Accepted media types, which are found by content; `application/octet-stream` stands for every "
        "file that is not recognised, of which models read the name only.",
    )
