"""Settings of custom tools: programs that a model writes and a person approves while the host runs."""

from pathlib import Path

from sophon.settings.types.field_types import Flag
from sophon.settings.types.section import Field, SettingsSection


class CustomToolsSettings(SettingsSection):
    """Custom tools."""

    enabled: Flag = Field(
        default=False,
        description="Whether users can have tools made, by tools.create and with an approval of each program.",
    )
    directory: Path = Field(default=Path("data/custom-tools"), description="Folder of the custom tools.")
