"""Settings section of the guard Audit."""

from pathlib import Path

from sophon.settings.types.field_types import Flag
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field, SettingsSection


class AuditSettings(SettingsSection):
    """Log of what became of each tool call."""

    enabled: Flag = Field(
        default=True,
        description="Whether each tool call, the verdicts on it and its outcome are kept in the audit log.",
    )
    signing_key: Secret | None = Field(
        default=None,
        description="Key of 32 bytes or more by which a host signs the head of the log every minute.",
    )
    head_file: Path = Field(
        default=Path("data/audit-head.json"), description="Signed head of the audit log, from the folder of the host."
    )
