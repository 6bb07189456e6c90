"""Settings section of the guard Protection."""

from sophon.settings.types.field_types import Flag
from sophon.settings.types.section import Field, SettingsSection


class ProtectionSettings(SettingsSection):
    """Protection of the files that define and control the agent."""

    enabled: Flag = Field(
        default=True, description="Whether tools are kept from the host's own files and the agent's identity files."
    )
