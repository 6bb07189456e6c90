"""Settings section of the guard Snapshot."""

from sophon.settings.types.field_types import Flag, WholeNumber
from sophon.settings.types.section import Field, SettingsSection


class SnapshotSettings(SettingsSection):
    """Copies of files before tool calls change them."""

    enabled: Flag = Field(
        default=True, description="Whether a file is copied before a tool call writes, moves or deletes it."
    )
    max_file_bytes: WholeNumber = Field(
        default=10_000_000,
        ge=1,
        description="Largest file that is copied; a person decides on a call that changes a larger one.",
    )
    keep: WholeNumber = Field(default=100, ge=1, description="Snapshots that are kept of each user's files.")
    days: WholeNumber | None = Field(
        default=30, ge=1, description="Days that snapshots are kept; null: until there are newer ones."
    )
