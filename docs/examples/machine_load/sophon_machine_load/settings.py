"""Settings of the load of the machine."""

from sophon.settings import RootSection
from sophon.settings.types.field_types import Flag
from sophon.settings.types.section import Field


class LoadSettings(RootSection, key="Load", description="Load of the machine."):
    """Load of the machine."""

    enabled: Flag = Field(default=True, description="Whether the load is measured each minute, and kept for an hour.")
