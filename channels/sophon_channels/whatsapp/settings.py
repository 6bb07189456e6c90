"""Settings of a WhatsApp number."""

from sophon.settings.types.field_types import (
    Flag,
    PlatformId,
    TimeOfDay,
)
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field, SettingsSection
from sophon_channels.channel_settings import SharedChannelSettings


class WhatsAppTemplateSettings(SettingsSection):
    """Approved message template that tells a person of an answer after WhatsApp's 24 hours."""

    name: str = Field(min_length=1, max_length=512, description="Name of the template in WhatsApp Manager.")
    language: str = Field(default="en", min_length=2, max_length=16, description="Its language code, such as `en_US`.")
    has_parameter: Flag = Field(
        default=False, description="Whether its body has one variable, for the beginning of the answer."
    )


class WhatsAppSettings(SharedChannelSettings):
    """WhatsApp channel, over the Cloud API."""

    phone_number_id: PlatformId | None = Field(default=None, description="Id of the sending phone number, from Meta.")
    access_token: Secret | None = Field(default=None, description="Access token for sending messages.")
    app_secret: Secret | None = Field(default=None, description="App secret that signs webhook requests of Meta.")
    verify_token: Secret | None = Field(
        default=None, description="Token of your choice that Meta sends back when the webhook is verified."
    )
    quiet_hours: tuple[TimeOfDay, ...] | None = Field(
        default=None,
        min_length=2,
        max_length=2,
        description="From and to, as HH:MM; may pass midnight. What answers nobody (schedules, goals, webhooks) is "
        "held back until their end; answers and approvals are sent.",
    )
    template: WhatsAppTemplateSettings | None = Field(
        default=None,
        description="Template that is sent if an answer is refused after 24 hours; the person's next message brings "
        "the answer.",
    )
