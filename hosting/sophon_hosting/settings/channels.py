"""Settings of the channels of a host: its bots and numbers, and speech."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from sophon._python.lazy_pattern import lazy_pattern
from sophon.settings.root import RootSection
from sophon.settings.types.field_types import (
    CaseInsensitive,
    WebUrl,
)
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field, SettingsSection
from sophon_channels.telegram.settings import TelegramSettings
from sophon_channels.whatsapp.settings import WhatsAppSettings

_INSTANCE_NAME = lazy_pattern(r"[a-z][a-z0-9]{0,15}")


class TranscriptionSettings(SettingsSection):
    """Transcription of voice messages, by an API with OpenAI's `/audio/transcriptions`."""

    url: WebUrl | None = Field(
        default=None, description="Base URL of the API, such as `https://api.openai.com/v1`; null: voice is not read."
    )
    key: Secret | None = Field(default=None, description="API key; a server of your own may need none.")
    model: str = Field(default="whisper-1", min_length=1, description="Name of the model.")


class SpeechSettings(SettingsSection):
    """Voice notes with answers, spoken by an API with OpenAI's `/audio/speech`."""

    url: WebUrl | None = Field(
        default=None, description="Base URL of the API, such as `https://api.openai.com/v1`; null: nothing is spoken."
    )
    key: Secret | None = Field(default=None, description="API key; a server of your own may need none.")
    model: str = Field(default="gpt-4o-mini-tts", min_length=1, description="Name of the model.")
    voice: str = Field(default="alloy", min_length=1, description="Name of the voice.")
    format: Annotated[Literal["Opus", "Ogg"], CaseInsensitive()] = Field(
        default="Opus", description="What the API calls Opus in an Ogg file, the format of voice notes."
    )
    reply: Annotated[Literal["Never", "VoiceOnly", "Always"], CaseInsensitive()] = Field(
        default="VoiceOnly", description="Which answers are also spoken: none, those to voice messages, all."
    )


class ChannelsSettings(RootSection, key="Channels", description="Integrations with messaging platforms."):
    """Channels: integrations with messaging platforms."""

    transcription: TranscriptionSettings = Field(
        default_factory=TranscriptionSettings.defaults, description="Transcription of voice messages."
    )
    speech: SpeechSettings = Field(default_factory=SpeechSettings.defaults, description="Voice notes with answers.")
    telegram: TelegramSettings = Field(default_factory=TelegramSettings.defaults, description="The Telegram channel.")
    whatsapp: WhatsAppSettings = Field(
        default_factory=WhatsAppSettings.defaults, alias="WhatsApp", description="The WhatsApp channel."
    )
    telegram_bots: Mapping[str, TelegramSettings] = Field(
        default_factory=dict[str, TelegramSettings],
        description="Further bots by name: each is a channel `telegram-NAME` with the settings of `Telegram`.",
    )
    whatsapp_numbers: Mapping[str, WhatsAppSettings] = Field(
        default_factory=dict[str, WhatsAppSettings],
        alias="WhatsAppNumbers",
        description="Further numbers by name: each is a channel `whatsapp-NAME` with the settings of `WhatsApp`.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for each name that no channel can have."""
        for key, names in (("TelegramBots", self.telegram_bots), ("WhatsAppNumbers", self.whatsapp_numbers)):
            for name in names:
                if _INSTANCE_NAME.fullmatch(name) is None:
                    yield key, f"{name!r} is no name: a lower-case letter, then at most 15 letters and digits"

    @property
    def all_telegram(self) -> Mapping[str, TelegramSettings]:
        """The settings of all bots by the names of their channels."""
        return {"telegram": self.telegram, **{f"telegram-{name}": each for name, each in self.telegram_bots.items()}}

    @property
    def all_whatsapp(self) -> Mapping[str, WhatsAppSettings]:
        """The settings of all numbers by the names of their channels."""
        return {"whatsapp": self.whatsapp, **{f"whatsapp-{name}": each for name, each in self.whatsapp_numbers.items()}}

    def has_several_users(self) -> bool:
        """Return whether a channel runs: whoever it lets in writes to the host, beside the user of the web page."""
        return any(each.enabled for each in (*self.all_telegram.values(), *self.all_whatsapp.values()))
