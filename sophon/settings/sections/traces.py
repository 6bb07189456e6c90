"""Settings of traces."""

from sophon.settings.types.field_types import Flag
from sophon.settings.types.section import Field, SettingsSection


class TracesSettings(SettingsSection):
    """Traces of turns: stages, model attempts, tool calls and decisions with their times and cost."""

    enabled: Flag = Field(default=True, description="Whether turns are traced. Those off the record never are.")
