"""Settings sections of the host process: queue, store, hub, logging and channels."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Literal

from sophon.lazy_pattern import lazy_pattern
from sophon.settings.sections.chats import ChatSettings, find_chat_conflicts
from sophon.settings.types.field_types import (
    CaseInsensitive,
    CidrNetwork,
    Duration,
    FiniteNumber,
    Flag,
    PlatformId,
    TimeOfDay,
    TimeZoneName,
    WebUrl,
    WholeNumber,
    prefer_spelling,
)
from sophon.settings.types.secret_references import Secret, SecretUrl
from sophon.settings.types.section import Field, SettingsSection
from sophon.settings.user_ids import find_id_problem
from sophon.value_rules import ValueRules

DirectPolicySetting = Annotated[Literal["Pairing", "AllowList", "Open", "Disabled"], CaseInsensitive()]
"""Access policy for direct chats: pairing code, allow list, everybody, nobody."""

GroupPolicySetting = Annotated[Literal["MentionOnly", "All", "AllowList", "Disabled"], CaseInsensitive()]
"""Which group messages are processed: mentions, all, those of listed groups, none."""

_ALLOW_FROM = "Accounts that may write without pairing."
_APPROVERS = "Accounts that may decide approvals besides the user of the session."
_PROXY = (
    "URL of a proxy for all requests to the platform: `http://user:password@proxy.example:3128`; `socks5://` needs the "
    "extra `socks`."
)
_CHATS = "What is different in a chat: `*` for all, by the id of a chat or person, `id/topic` for a topic."
_ACK_REACTION = "Emoji with which the bot reacts to each message that it accepts; empty: none."
_DEBOUNCE_SECONDS = "Texts of a person that follow each other within so many seconds are one message; 0: never."
_DIRECT_POLICY = "Who may write in direct chats: accounts with a pairing code, those in AllowFrom, everybody, nobody."

_INSTANCE_NAME = lazy_pattern(r"[a-z][a-z0-9]{0,15}")
_ORIGIN = lazy_pattern(r"https?://[^/?#@\s]+/?", re.IGNORECASE)


QUEUE_BACKENDS = ("Memory", "Redis", "RabbitMq", "Postgres")
"""The queues that are part of Sophon."""

MIN_LEASE = timedelta(seconds=1)
"""Shorter ones would end while a worker is only slow."""


class QueueSettings(SettingsSection):
    """Task queue."""

    backend: Annotated[str, prefer_spelling(*QUEUE_BACKENDS)] = Field(
        default="Memory",
        description="Where tasks wait: `Memory` (one process), `Redis`, `RabbitMq`, `Postgres`, or the name of an "
        "installed entry point `sophon.queues`.",
    )
    capacity: WholeNumber = Field(
        default=100,
        ge=1,
        description="Maximum number of waiting tasks; beyond it a message is rejected with `queue_full`.",
    )
    owner_share: FiniteNumber = Field(
        default=0.75,
        gt=0,
        le=1,
        description="Part of Capacity that one user may fill while nobody else waits; with others waiting, less. With "
        "one user and no channel, all of it.",
    )
    url: SecretUrl | None = Field(
        default=None,
        description="URL of the queue's server: `redis://`, `rediss://`, `unix://`, `amqp://`, `amqps://` or "
        "`postgresql://`; for Postgres `Store.Url` by default.",
    )
    name: str = Field(
        default="sophon",
        pattern=r"^[a-z][a-z0-9_]{0,31}$",
        description="First part of the names of all keys, queues, exchanges and tables on that server; hosts with the "
        "same name and server share the queue. Lower-case letters, digits and `_`.",
    )
    lease: Duration = Field(
        default=timedelta(seconds=30),
        description="Time after which a task of a worker that no longer answers is given to another one; a worker "
        "renews it three times as often.",
    )
    max_deliveries: WholeNumber = Field(
        default=5, ge=1, description="Starts of a task without an outcome, after which it is given up."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for a backend without its URL, and for a URL of none."""
        if self.backend in ("Redis", "RabbitMq") and self.url is None:
            yield "Url", f"the backend {self.backend} needs the URL of its server"
        if self.backend == "Memory" and self.url is not None:
            yield "Url", "a queue in memory has no URL; remove it, or set Backend"
        if self.lease < MIN_LEASE:
            yield "Lease", f"a lease must be at least {MIN_LEASE.total_seconds():.0f} s"


class StoreSettings(SettingsSection):
    """Database for all durable data."""

    url: SecretUrl = Field(
        default=SecretUrl("sqlite:///data/sophon.db"), description="URL of the database: SQLite or PostgreSQL."
    )


class RetentionSettings(SettingsSection):
    """How long stored data is kept, in days; null: for ever. Sessions are deleted as a whole, never single messages."""

    sessions: WholeNumber | None = Field(
        default=None,
        ge=1,
        description="Days without anything new after which a session is deleted with all that belongs to it, unless a "
        "task, a schedule or a goal of it has not ended.",
    )
    events: WholeNumber | None = Field(
        default=None, ge=1, description="Days that events are kept for a replay, the newest 5,000 of a session at most."
    )
    runs: WholeNumber | None = Field(
        default=None, ge=30, description="Days that finished tasks are kept; at least 30, because platforms repeat."
    )
    usage: WholeNumber | None = Field(
        default=None,
        ge=1,
        description="Days that usage is kept for reports; budgets do not need it.",
    )
    audit: WholeNumber | None = Field(default=30, ge=1, description="Days that the audit log is kept.")
    traces: WholeNumber | None = Field(
        default=30, ge=1, description="Days that traces of turns are kept, and with them the turns per day of reports."
    )


class HubUserSettings(SettingsSection):
    """A user who may access the host over the network."""

    id: str = Field(min_length=1, description="Id of the user, the owner of the user's sessions.")
    token: Secret = Field(description="Bearer token of the user.")
    operator: Flag = Field(
        default=False, description="Whether the user may watch all sessions and decide their approvals."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield why the id cannot be one."""
        if problem := find_id_problem(self.id):
            yield "Id", problem


class HubIssuerSettings(SettingsSection):
    """An issuer of JSON Web Tokens that are accepted as log-ins of the users."""

    issuer: str = Field(min_length=1, description="Claim `iss` of its tokens.")
    audience: str = Field(min_length=1, description="Claim `aud` of tokens for this host.")
    algorithm: Annotated[Literal["RS256", "PS256", "ES256", "EdDSA", "HS256"], CaseInsensitive()] = Field(
        description="The only algorithm that is accepted, whatever a token names."
    )
    key: Secret = Field(description="Public key in PEM; for HS256 the shared secret, of at least 32 bytes.")


class HubSettings(SettingsSection):
    """Web server: chat page, HTTP API and Socket.IO."""

    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on.")
    port: WholeNumber = Field(default=8080, ge=0, le=65535, description="Port to listen on; 0 selects a free port.")
    allowed_origins: tuple[str, ...] = Field(default=(), description="Web origins besides its own that may connect.")
    allowed_hosts: tuple[str, ...] = Field(
        default=(), description="Accepted Host names besides its address, localhost and the hosts of AllowedOrigins."
    )
    max_connections: WholeNumber = Field(
        default=1000,
        ge=8,
        description="Maximum number of open connections, and at most three quarters of the limit of open files.",
    )
    max_connections_per_address: WholeNumber = Field(
        default=100,
        ge=1,
        description="Maximum number of connections of one address; loopback and TrustedProxies are exempt.",
    )
    request_timeout: Duration = Field(
        default=timedelta(seconds=20),
        description="Time for the head of a request, from connecting or the previous response, and again for its body.",
    )
    trusted_proxies: tuple[CidrNetwork, ...] = Field(
        default=(),
        description="Reverse proxies whose X-Forwarded-For is believed; their clients share their address otherwise.",
    )
    open_ai_api: Flag = Field(
        default=False,
        description="Whether the OpenAI-compatible endpoints `/v1/chat/completions` and `/v1/models` are enabled.",
    )
    fanout_url: SecretUrl | None = Field(
        default=None,
        description="URL of the Redis or PostgreSQL over which several hosts tell each other of events; by default the "
        "Redis of Queue, else the store. Not used with a queue in memory.",
    )
    users: tuple[HubUserSettings, ...] = Field(
        default=(),
        description="Users of the host; without any there is one local user, and Host must be a loopback address.",
    )

    issuers: tuple[HubIssuerSettings, ...] = Field(
        default=(),
        description="Issuers of JSON Web Tokens; the claim `sub` names the user in Users, others are refused.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield conflicts of a host that is open to other machines or web pages without users."""
        if self.issuers and not self.users:
            yield "Issuers", "a token names a user of Hub.Users, and there are none; add the users"
        if "*" in self.allowed_origins and not _is_loopback(self.host):
            yield "AllowedOrigins", f"'*' allows every web page, and {self.host!r} is not a loopback address"
        if "*" in self.allowed_origins and not self.users:
            yield "AllowedOrigins", "'*' allows every web page, and without Hub.Users each would act as the local user"
        for origin in self.allowed_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                yield (
                    "AllowedOrigins",
                    f"{origin!r} is not an origin; write it as https://chat.example or https://chat.example:8443",
                )
        if not self.users and not _is_loopback(self.host):
            yield (
                "Host",
                f"{self.host!r} is not a loopback address and needs Hub.Users; add a user first",
            )


class LoggingSettings(SettingsSection):
    """Logging of the host to standard error."""

    level: Annotated[Literal["Debug", "Info", "Warning", "Error"], CaseInsensitive()] = Field(
        default="Info", description="Minimum level that is logged."
    )
    format: Annotated[Literal["Auto", "Json", "Text"], CaseInsensitive()] = Field(
        default="Auto", description="One JSON object per line, or text; Auto is text on a terminal and JSON elsewhere."
    )


class TelegramSettings(SettingsSection):
    """Telegram channel. A missing setting stops the channel with a message, and not the host."""

    enabled: Flag = Field(default=False, description="Whether the channel runs.")
    token: Secret | None = Field(default=Secret("TELEGRAM_TOKEN", "$env"), description="Bot token, from BotFather.")
    api_base: WebUrl | None = Field(default=None, description="URL of another Bot API server.")
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
    allow_from: tuple[PlatformId, ...] = Field(default=(), description=_ALLOW_FROM)
    approvers: tuple[PlatformId, ...] = Field(default=(), description=_APPROVERS)
    direct_policy: DirectPolicySetting = Field(default="Pairing", description=_DIRECT_POLICY)
    debounce_seconds: FiniteNumber = Field(default=0.0, ge=0, le=30, description=_DEBOUNCE_SECONDS)
    ack_reaction: str = Field(default="", max_length=16, description=_ACK_REACTION)
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
    quiet_time_zone: TimeZoneName = Field(default="UTC", description="Time zone of QuietHours, such as Europe/Vienna.")
    chats: Mapping[str, ChatSettings] = Field(default_factory=dict[str, ChatSettings], description=_CHATS)
    proxy: SecretUrl | None = Field(default=None, description=_PROXY)

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for each key of Chats that names none."""
        yield from find_chat_conflicts(self.chats)
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


class WhatsAppSettings(SettingsSection):
    """WhatsApp channel, over the Cloud API. A missing setting stops the channel with a message, and not the host."""

    enabled: Flag = Field(default=False, description="Whether the channel runs.")
    phone_number_id: PlatformId | None = Field(default=None, description="Id of the sending phone number, from Meta.")
    access_token: Secret | None = Field(default=None, description="Access token for sending messages.")
    app_secret: Secret | None = Field(default=None, description="App secret that signs webhook requests of Meta.")
    verify_token: Secret | None = Field(
        default=None, description="Token of your choice that Meta sends back when the webhook is verified."
    )
    api_base: WebUrl | None = Field(default=None, description="URL of another Graph API server.")
    allow_from: tuple[PlatformId, ...] = Field(default=(), description=_ALLOW_FROM)
    approvers: tuple[PlatformId, ...] = Field(default=(), description=_APPROVERS)
    direct_policy: DirectPolicySetting = Field(default="Pairing", description=_DIRECT_POLICY)
    debounce_seconds: FiniteNumber = Field(default=0.0, ge=0, le=30, description=_DEBOUNCE_SECONDS)
    ack_reaction: str = Field(default="", max_length=16, description=_ACK_REACTION)
    chats: Mapping[str, ChatSettings] = Field(default_factory=dict[str, ChatSettings], description=_CHATS)
    proxy: SecretUrl | None = Field(default=None, description=_PROXY)
    template: WhatsAppTemplateSettings | None = Field(
        default=None,
        description="Template that is sent if an answer is refused after 24 hours; the person's next message brings "
        "the answer.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for each key of Chats that names none."""
        yield from find_chat_conflicts(self.chats)


class TranscriptionSettings(SettingsSection):
    """Transcription of voice messages, by an API with OpenAI's `/audio/transcriptions`."""

    url: WebUrl | None = Field(
        default=None, description="Base URL of the API, such as `https://api.openai.com/v1`; null: voice is not read."
    )
    key: Secret | None = Field(default=None, description="API key; a server of your own may need none.")
    model: str = Field(default="whisper-1", min_length=1, description="Name of the model.")
    timeout: Duration = Field(
        default=timedelta(seconds=60), gt=timedelta(0), description="How long the transcription of one file may take."
    )


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
    max_characters: WholeNumber = Field(
        default=1_000, ge=1, le=4_096, description="A longer answer is not spoken, and is sent as text only."
    )
    timeout: Duration = Field(
        default=timedelta(seconds=60), gt=timedelta(0), description="How long the speech of one answer may take."
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


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
