"""Settings section of the guard Audit."""

from sophon.settings.types.field_types import Flag
from sophon.settings.types.section import Field, SettingsSection


class AuditSettings(SettingsSection):
    """Log of what became of each tool call."""

    enabled: Flag = Field(
        default=True,
        description="Whether each tool call, the verdicts on it and its outcome are kept in the audit log.",
    )
