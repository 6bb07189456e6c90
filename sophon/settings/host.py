"""The settings of the process around the turns: queue, store, hub and channels."""

import ipaddress
import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from sophon.settings.secrets import Secret, SecretUrl
from sophon.settings.section import Section
from sophon.settings.values import AnyCase, Flag, Identity, WebAddress, Whole

DirectPolicy = Annotated[Literal["Pairing", "AllowList", "Open", "Disabled"], AnyCase()]
"""Who may write directly: by pairing code, by list, everybody, nobody."""

GroupPolicy = Annotated[Literal["MentionOnly", "All", "AllowList", "Disabled"], AnyCase()]
"""Which messages of groups count: mentions, all, those of listed groups, none."""

_ALLOW_FROM = "Accounts that may write without pairing."
_APPROVERS = "Accounts that may answer approvals besides the one who asked."
_DIRECT_POLICY = "Who may write directly: those with a pairing code, those in AllowFrom, everybody, nobody."

_ORIGIN = re.compile(r"https?://[^/?#@\s]+/?", re.IGNORECASE)


class QueueSettings(Section):
    """Where tasks wait."""

    backend: Annotated[Literal["Memory", "Redis", "RabbitMQ"], AnyCase()] = Field(
        default="Memory", description="What keeps the queue."
    )
    capacity: Whole = Field(
        default=100, ge=1, description="Tasks that may wait; one more is refused with `queue_full`."
    )
    url: SecretUrl | None = Field(default=None, description="Address of Redis or RabbitMQ.")

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A queue outside of the process has an address."""
        if self.backend != "Memory" and self.url is None:
            yield "Url", f"the backend {self.backend} needs its address"


class StoreSettings(Section):
    """Where everything durable is kept."""

    url: SecretUrl = Field(
        default=SecretUrl("sqlite:///data/sophon.db"), description="Address of the database: SQLite or PostgreSQL."
    )


class HubUserSettings(Section):
    """Somebody who may use the host over the network."""

    id: str = Field(min_length=1, description="Name of the user; sessions belong to it.")
    token: Secret = Field(description="What the user shows to be let in.")
    operator: Flag = Field(default=False, description="May watch and decide over the sessions of all.")


class HubSettings(Section):
    """The web server: page, API and Socket.IO."""

    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on.")
    port: Whole = Field(default=8080, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    allowed_origins: tuple[str, ...] = Field(default=(), description="Web origins besides its own that may connect.")
    allowed_hosts: tuple[str, ...] = Field(
        default=(), description="Names under which it is reached besides its address, localhost and the origins' hosts."
    )
    open_ai_api: Flag = Field(
        default=False, description="Whether `/v1/chat/completions` and `/v1/models` answer, for clients of OpenAI."
    )
    users: tuple[HubUserSettings, ...] = Field(
        default=(), description="Who may use it; without any there is one local user and Host is a loopback address."
    )

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A host without users is reached from its own machine only, and by no other web page."""
        if "*" in self.allowed_origins and not _is_loopback(self.host):
            yield "AllowedOrigins", f"'*' lets every web page in, and {self.host!r} can be reached from other machines"
        if "*" in self.allowed_origins and not self.users:
            yield "AllowedOrigins", "'*' lets every web page in, and without Hub.Users each would be the local user"
        for origin in self.allowed_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                yield (
                    "AllowedOrigins",
                    f"{origin!r} is no origin; one is written as https://chat.example or with a port",
                )
        if not self.users and not _is_loopback(self.host):
            yield "Host", f"{self.host!r} can be reached from other machines, and Hub.Users is empty; name a user first"


class LoggingSettings(Section):
    """What a host tells on standard error."""

    level: Annotated[Literal["Debug", "Info", "Warning", "Error"], AnyCase()] = Field(
        default="Info", description="The least that is told."
    )
    format: Annotated[Literal["Auto", "Json", "Text"], AnyCase()] = Field(
        default="Auto", description="One JSON object per line, or text; Auto is text on a terminal and JSON elsewhere."
    )


class TelegramSettings(Section):
    """The Telegram channel. What it lacks keeps the channel from running, and not the host: it says so itself."""

    enabled: Flag = Field(default=False, description="Whether the channel runs.")
    token: Secret | None = Field(
        default=Secret("TELEGRAM_TOKEN", "$env"), description="Token of the bot, from BotFather."
    )
    api_base: WebAddress | None = Field(default=None, description="Address of another Bot API server.")
    mode: Annotated[Literal["Polling", "Webhook"], AnyCase()] = Field(
        default="Polling", description="Fetch updates, or have them sent to `/webhooks/telegram`."
    )
    webhook_secret: Secret | None = Field(default=None, description="What Telegram shows at the webhook; needed there.")
    allow_from: tuple[Identity, ...] = Field(default=(), description=_ALLOW_FROM)
    approvers: tuple[Identity, ...] = Field(default=(), description=_APPROVERS)
    direct_policy: DirectPolicy = Field(default="Pairing", description=_DIRECT_POLICY)
    group_policy: GroupPolicy = Field(
        default="MentionOnly", description="What counts in groups: mentions, all, AllowedGroups only, nothing."
    )
    allowed_groups: tuple[Identity, ...] = Field(default=(), description="Groups that AllowList lets in.")


class WhatsAppSettings(Section):
    """The WhatsApp channel, over the Cloud API. What it lacks keeps the channel from running, and not the host."""

    enabled: Flag = Field(default=False, description="Whether the channel runs.")
    phone_number_id: Identity | None = Field(default=None, description="Id of the number that answers, from Meta.")
    access_token: Secret | None = Field(default=None, description="Token that sends messages.")
    app_secret: Secret | None = Field(default=None, description="Secret that signs what Meta sends.")
    verify_token: Secret | None = Field(
        default=None, description="Your own word that Meta repeats when the webhook is set up."
    )
    api_base: WebAddress | None = Field(default=None, description="Another address for the Graph API.")
    allow_from: tuple[Identity, ...] = Field(default=(), description=_ALLOW_FROM)
    approvers: tuple[Identity, ...] = Field(default=(), description=_APPROVERS)
    direct_policy: DirectPolicy = Field(default="Pairing", description=_DIRECT_POLICY)


class ChannelsSettings(Section):
    """The platforms people write from."""

    telegram: TelegramSettings = Field(default_factory=TelegramSettings, description="The Telegram channel.")
    whatsapp: WhatsAppSettings = Field(
        default_factory=WhatsAppSettings, alias="WhatsApp", description="The WhatsApp channel."
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
