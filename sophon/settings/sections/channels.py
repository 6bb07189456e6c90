"""Settings sections of channels: messaging platforms, their chats, and speech."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from sophon._python.lazy_pattern import lazy_pattern
from sophon._python.value_rules import ValueRules
from sophon.settings.types.field_types import (
    CaseInsensitive,
    FiniteNumber,
    Flag,
    PlatformId,
    TimeOfDay,
    TimeZoneName,
    WebUrl,
    WholeNumber,
)
from sophon.settings.types.secret_references import Secret, SecretUrl
from sophon.settings.types.section import Field, SettingsSection

DirectPolicySetting = Annotated[Literal["Pairing", "AllowList", "Open", "Disabled"], CaseInsensitive()]
"""Access policy for direct chats: pairing code, allow list, everybody, nobody."""

GroupPolicySetting = Annotated[Literal["MentionOnly", "All", "AllowList", "Disabled"], CaseInsensitive()]
"""Which group messages are processed: mentions, all, those of listed groups, none."""

_INSTANCE_NAME = lazy_pattern(r"[a-z][a-z0-9]{0,15}")

ALL_CHATS: Final = "*"
"""Key of what holds for all chats of a channel."""


class ChatSettings(SettingsSection):
    """What is different in a chat or topic; what is not set is inherited: topic from chat, chat from `*`."""

    agent: str | None = Field(
        default=None, min_length=1, description="Agent that answers; `main` for the one without a file."
    )
    prompt: str | None = Field(
        default=None, min_length=1, max_length=4000, description="Text behind the system prompt; `none` for none."
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="Model that is asked if neither message nor session names one; `auto`: the host chooses.",
    )
    language: str | None = Field(
        default=None, min_length=2, max_length=35, description="Language of the answers, as `Deutsch` or `de`; `any`."
    )
    memory: Annotated[Literal["Chat", "Session", "None"], CaseInsensitive()] | None = Field(
        default=None,
        description="`Chat`: what the person or the group has said anywhere; `Session`: in this conversation; `None`.",
    )
    tools: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Names and globs of the tools that may be used; `*` for all."
    )

    def to_overrides(self) -> dict[str, Any]:
        """Return what is set, by the names of the overrides of a chat."""
        found = {name: getattr(self, name) for name in ("agent", "prompt", "model", "language", "memory", "tools")}
        return {name: value for name, value in found.items() if value is not None}


def find_chat_conflicts(chats: Mapping[str, ChatSettings]) -> Iterator[tuple[str, str]]:
    """Yield a conflict for each key that is no `*`, chat or `chat/topic`."""
    for key in chats:
        if not key.strip("/ ") or key.startswith("/") or key.endswith("/") or key != key.strip():
            yield "Chats", f"{key!r} is no chat: write its id, `id/topic`, or `*` for all chats"


class SharedChannelSettings(SettingsSection):
    """What all channels have. A missing setting stops the channel with a message, and not the host."""

    enabled: Flag = Field(default=False, description="Whether the channel runs.")
    api_base: WebUrl | None = Field(default=None, description="URL of another server of the platform's API.")
    allow_from: tuple[PlatformId, ...] = Field(default=(), description="Accounts that may write without pairing.")
    approvers: tuple[PlatformId, ...] = Field(
        default=(), description="Accounts that may decide approvals besides the user of the session."
    )
    direct_policy: DirectPolicySetting = Field(
        default="Pairing",
        description="Who may write in direct chats: accounts with a pairing code, those in AllowFrom, everybody, "
        "nobody.",
    )
    debounce_seconds: FiniteNumber = Field(
        default=0.0,
        ge=0,
        le=30,
        description="Texts of a person that follow each other within so many seconds are one message; 0: never.",
    )
    ack_reaction: str = Field(
        default="",
        max_length=16,
        description="Emoji with which the bot reacts to each message that it accepts; empty: none.",
    )
    quiet_time_zone: TimeZoneName = Field(default="UTC", description="Time zone of QuietHours, such as Europe/Vienna.")
    chats: Mapping[str, ChatSettings] = Field(
        default_factory=dict[str, ChatSettings],
        description="What is different in a chat: `*` for all, by the id of a chat or person, `id/topic` for a topic.",
    )
    proxy: SecretUrl | None = Field(
        default=None,
        description="URL of a proxy for all requests to the platform: `http://user:password@proxy.example:3128`; "
        "`socks5://` needs the extra `socks`.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for each key of Chats that names none, and for a list that lets nobody in."""
        yield from find_chat_conflicts(self.chats)
        if self.enabled and self.direct_policy == "AllowList" and not (self.allow_from or self.approvers):
            yield "DirectPolicy", "AllowList lets nobody in while AllowFrom is empty; list somebody, or write Disabled"


class TelegramSettings(SharedChannelSettings):
    """Telegram channel."""

    token: Secret | None = Field(default=Secret("TELEGRAM_TOKEN", "$env"), description="Bot token, from BotFather.")
    local: Flag = Field(
        default=False,
        description="Whether the server of ApiBase runs with `--local` on this machine: files are read from its disk, "
        "and may have 2,000 MB.",
    )
    mode: Annotated[Literal["Polling", "Webhook"], CaseInsensitive()] = Field(
        default="Polling", description="Poll for updates, or receive them at `/webhooks/telegram`."
    )
    webhook_secret: Secret | None = Field(
        default=None, description="Secret token that Telegram sends with webhook requests; required in that mode."
    )
    group_policy: GroupPolicySetting = Field(
        default="MentionOnly",
        description="Which group messages are processed: mentions, all, those of AllowedGroups, none.",
    )
    allowed_groups: tuple[PlatformId, ...] = Field(default=(), description="Groups that the policy AllowList permits.")
    mention_patterns: tuple[Annotated[str, ValueRules(min_length=1, max_length=64)], ...] = Field(
        default=(),
        max_length=20,
        description="Words that mention the bot in a group besides its username, literally and in any case.",
    )
    group_history: Mapping[str, Annotated[WholeNumber, ValueRules(ge=1, le=50)]] = Field(
        default_factory=dict[str, int],
        description="How many messages that were not addressed to the bot a turn sees, by the id of the group.",
    )
    quiet_hours: tuple[TimeOfDay, ...] | None = Field(
        default=None,
        min_length=2,
        max_length=2,
        description="From and to, as HH:MM; may pass midnight. Messages, approvals too, are delivered without a sound.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield those of every channel, for a list that lets no group in, a blank word, and Local without a server."""
        yield from super().find_conflicts()
        if self.enabled and self.group_policy == "AllowList" and not self.allowed_groups:
            yield "GroupPolicy", "AllowList lets no group in while AllowedGroups is empty; list one, or write Disabled"
        if any(not word.strip() for word in self.mention_patterns):
            yield "MentionPatterns", "a blank word would mention the bot in every message"
        if self.local and self.api_base is None:
            yield "Local", "only a server of one's own runs with --local; set ApiBase"


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


class ChannelsSettings(SettingsSection):
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
