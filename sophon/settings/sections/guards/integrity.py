"""Settings section of the guard Integrity."""

from sophon.settings.types.field_types import Flag
from sophon.settings.types.section import Field, SettingsSection


class IntegritySettings(SettingsSection):
    """Whether a call that runs is the call that was judged."""

    enabled: Flag = Field(
        default=True, description="Whether a call that was changed after the guards judged it is blocked."
    )
