"""Settings sections of replies: what rules check in them, and what they add."""

from sophon.settings.types.field_types import Flag
from sophon.settings.types.section import Field, SettingsSection


class ValidatorSettings(SettingsSection):
    """Checks of a reply; a fault is told the model, which answers once more."""

    enabled: Flag = Field(default=False, description="Whether replies are checked, with at most one corrective round.")


class AnnouncerSettings(SettingsSection):
    """What a reply says of the actions of its turn."""

    enabled: Flag = Field(
        default=False,
        description="Whether claims of actions that did not run are removed, and failures that a reply hides added.",
    )


class RepliesSettings(SettingsSection):
    """What rules check in a reply, and what they add."""

    validator: ValidatorSettings = Field(
        default_factory=ValidatorSettings.defaults, description="Checks of a reply, with one corrective round."
    )
    announcer: AnnouncerSettings = Field(
        default_factory=AnnouncerSettings.defaults, description="What a reply says of the actions of its turn."
    )
    url_outcomes: Flag = Field(
        default=False, description="Whether a reply to a turn that called several addresses lists those that failed."
    )
