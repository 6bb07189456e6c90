"""Factory of the channels: those of the settings, and those of installed packages (entry points `sophon.channels`)."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import cast

from sophon.chat_overrides import ChatOverrides
from sophon.errors import InputError, SettingsError, SophonError
from sophon.lazy_dataclass import dataclass
from sophon.plugins.entry_points import find_entry_points, load_entry_point
from sophon.principals import is_channel_name
from sophon.services import Services
from sophon.settings.sections.chats import ChatSettings
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import Channel
from sophon_channels.errors import ChannelError
from sophon_hosting.channels.inbound.inbound_options import InboundOptions

ENTRY_POINT_GROUP = "sophon.channels"
"""Entry-point group of channels."""


@dataclass(frozen=True, slots=True)
class ConfiguredChannel:
    """A channel with its access policy, the options of its inbound side, and what is different in single chats: by the
    key of the chat or topic (`ChatLocation.key`), or `*` for all.
    """

    channel: Channel
    policy: AccessPolicy = field(default_factory=AccessPolicy)
    inbound: InboundOptions = field(default_factory=InboundOptions)
    chats: Mapping[str, ChatOverrides] = field(default_factory=lambda: {})


def create_channels(services: Services, environment: Mapping[str, str]) -> list[ConfiguredChannel]:
    """Create the enabled channels. A platform that is not enabled is not imported."""
    return [
        *_create_telegram(services, environment),
        *_create_whatsapp(services, environment),
        *_create_installed(services, environment),
    ]


def _create_telegram(services: Services, environment: Mapping[str, str]) -> list[ConfiguredChannel]:
    settings = services.settings.channels.telegram
    if not settings.enabled:
        return []
    from sophon_channels.telegram.channel import TelegramChannel  # lazy: only where it is enabled
    from sophon_channels.telegram.webhook import WEBHOOK_PATH

    policy = AccessPolicy(
        frozenset(settings.allow_from),
        frozenset(settings.approvers),
        settings.direct_policy,
        settings.group_policy,
        frozenset(settings.allowed_groups),
    )
    public_url = services.settings.public_url
    webhook_url = f"{public_url.rstrip('/')}{WEBHOOK_PATH}" if public_url and settings.mode == "Webhook" else None
    channel = TelegramChannel(settings, environment, services.clock, webhook_url=webhook_url)
    inbound = InboundOptions(settings.debounce_seconds, settings.group_history)
    return [ConfiguredChannel(channel, policy, inbound, _read_chats("Telegram", settings.chats))]


def _create_whatsapp(services: Services, environment: Mapping[str, str]) -> list[ConfiguredChannel]:
    settings = services.settings.channels.whatsapp
    if not settings.enabled:
        return []
    from sophon_channels.whatsapp.channel import WhatsAppChannel  # lazy: only where it is enabled
    from sophon_channels.whatsapp.webhook import WEBHOOK_PATH

    policy = AccessPolicy(frozenset(settings.allow_from), frozenset(settings.approvers), settings.direct_policy)
    public_url = services.settings.public_url
    webhook_url = f"{public_url.rstrip('/')}{WEBHOOK_PATH}" if public_url else None
    return [
        ConfiguredChannel(
            WhatsAppChannel(settings, environment, services.clock, webhook_url=webhook_url),
            policy,
            InboundOptions(settings.debounce_seconds),
            _read_chats("WhatsApp", settings.chats),
        )
    ]


def _read_chats(section: str, chats: Mapping[str, ChatSettings]) -> dict[str, ChatOverrides]:
    found: dict[str, ChatOverrides] = {}
    for key, settings in chats.items():
        try:
            found[key] = ChatOverrides.from_json(settings.to_overrides())
        except InputError as error:
            raise SettingsError([f"Channels.{section}.Chats.{key}: {error}"]) from None
    return found


def _create_installed(services: Services, environment: Mapping[str, str]) -> list[ConfiguredChannel]:
    """Call each entry point with services and environment; it returns a `ConfiguredChannel`, or None to add no
    channel.
    """
    channels: list[ConfiguredChannel] = []
    for name, entry in sorted(find_entry_points(ENTRY_POINT_GROUP).items()):
        factory = cast("Callable[[Services, Mapping[str, str]], ConfiguredChannel | None]", load_entry_point(entry))
        try:
            channel = factory(services, environment)
        except SophonError:
            raise
        except Exception as error:
            raise ChannelError(f"the channel {name!r} ({entry.value}) cannot be created: {error}") from error
        if channel is not None and not is_channel_name(channel.channel.name):
            raise ChannelError(
                f"the channel {name!r} cannot be named {channel.channel.name!r}: reserved, or with a colon"
            )
        if channel is not None:
            channels.append(channel)
    return channels
