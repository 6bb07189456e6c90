"""Settings section of the guard Redaction."""

from sophon.settings.types.field_types import Flag
from sophon.settings.types.section import Field, SettingsSection


class RedactionSettings(SettingsSection):
    """Replacement of secrets in what tools return and models write."""

    enabled: Flag = Field(
        default=True,
        description="Whether secrets in the results of tools and in the texts of models are replaced by a marker.",
    )
