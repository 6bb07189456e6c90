"""Settings of the log of a host."""

from typing import Annotated, Literal

from sophon.settings.root import RootSection
from sophon.settings.types.field_types import CaseInsensitive
from sophon.settings.types.section import Field


class LoggingSettings(RootSection, key="Logging", description="Logging of the host."):
    """Logging of the host to standard error."""

    changeable = ("level",)

    level: Annotated[Literal["Debug", "Info", "Warning", "Error"], CaseInsensitive()] = Field(
        default="Info", description="Minimum level that is logged."
    )
    format: Annotated[Literal["Auto", "Json", "Text"], CaseInsensitive()] = Field(
        default="Auto", description="One JSON object per line, or text; Auto is text on a terminal and JSON elsewhere."
    )
