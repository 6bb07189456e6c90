"""Settings sections of traces and of OpenTelemetry."""

from sophon.settings.types.field_types import Flag, WholeNumber
from sophon.settings.types.section import Field, SettingsSection


class TracesSettings(SettingsSection):
    """Traces of turns: stages, model attempts, tool calls and decisions with their times and cost."""

    enabled: Flag = Field(default=True, description="Whether turns are traced. Those off the record never are.")
    max_entries: WholeNumber = Field(
        default=1000, ge=10, le=100_000, description="Events of one turn that its trace keeps; the rest is counted."
    )
