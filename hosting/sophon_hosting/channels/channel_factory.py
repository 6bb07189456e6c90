"""Factory of the channels: those of the settings, and those of installed packages (entry points `sophon.channels`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import cast

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.entry_points import find_entry_points, load_entry_point
from sophon.errors import InputError, SettingsError, SophonError
from sophon.principals import is_channel_name
from sophon.services import Services
from sophon.turn.chat_overrides import ChatOverrides
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.channel_settings import ChatSettings
from sophon_channels.contract import Channel
from sophon_channels.errors import ChannelError
from sophon_channels.telegram.settings import TelegramSettings
from sophon_channels.webhook_body import WEBHOOKS
from sophon_channels.whatsapp.settings import WhatsAppSettings
from sophon_hosting.channels.inbound.handler import InboundOptions
from sophon_hosting.settings.channels import ChannelsSettings

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
    chats: Mapping[str, ChatOverrides] = field(default_factory=new_dict)


def create_channels(services: Services, environment: Mapping[str, str]) -> list[ConfiguredChannel]:
    """Create the enabled channels. A platform that is not enabled is not imported.

    Raises SettingsError for two channels with the same name or account.
    """
    settings = services.settings.section(ChannelsSettings)
    channels = [
        *(_create_telegram(services, environment, *each) for each in settings.all_telegram.items() if each[1].enabled),
        *(_create_whatsapp(services, environment, *each) for each in settings.all_whatsapp.items() if each[1].enabled),
        *_create_installed(services, environment),
    ]
    _check_distinct([each.channel for each in channels])
    return channels


def _check_distinct(channels: Sequence[Channel]) -> None:
    """Raise SettingsError for channels that would take each other's messages."""
    names = [each.name for each in channels]
    problems = [f"there are two channels {name!r}" for name in sorted(set(names)) if names.count(name) > 1]
    first: dict[tuple[str, str], str] = {}
    for channel in channels:
        key = (channel.name.partition("-")[0], channel.account)
        other = first.setdefault(key, channel.name)
        if channel.account and other != channel.name:
            problems.append(f"the channels {other!r} and {channel.name!r} have the same account, {channel.account}")
    if problems:
        raise SettingsError(problems)


def _create_telegram(
    services: Services, environment: Mapping[str, str], name: str, settings: TelegramSettings
) -> ConfiguredChannel:
    from sophon_channels.telegram.allowed_reactions import ALLOWED_REACTIONS
    from sophon_channels.telegram.channel import TelegramChannel  # lazy: only where it is enabled

    policy = AccessPolicy(
        frozenset(settings.allow_from),
        frozenset(settings.approvers),
        settings.direct_policy,
        settings.group_policy,
        frozenset(settings.allowed_groups),
    )
    webhook_url = _find_webhook_url(services, name) if settings.mode == "Webhook" else None
    channel = TelegramChannel(settings, environment, services.clock, name=name, webhook_url=webhook_url)
    if settings.ack_reaction and settings.ack_reaction not in ALLOWED_REACTIONS:
        allowed = " ".join(sorted(ALLOWED_REACTIONS))
        raise SettingsError([f"AckReaction of the channel {name}: Telegram allows one of {allowed}"])
    inbound = InboundOptions(settings.debounce_seconds, settings.group_history, settings.ack_reaction)
    return ConfiguredChannel(channel, policy, inbound, _read_chats(name, settings.chats))


def _create_whatsapp(
    services: Services, environment: Mapping[str, str], name: str, settings: WhatsAppSettings
) -> ConfiguredChannel:
    from sophon_channels.whatsapp.channel import WhatsAppChannel  # lazy: only where it is enabled

    policy = AccessPolicy(frozenset(settings.allow_from), frozenset(settings.approvers), settings.direct_policy)
    webhook_url = _find_webhook_url(services, name)
    channel = WhatsAppChannel(settings, environment, services.clock, name=name, webhook_url=webhook_url)
    inbound = InboundOptions(settings.debounce_seconds, ack_reaction=settings.ack_reaction)
    return ConfiguredChannel(channel, policy, inbound, _read_chats(name, settings.chats))


def _find_webhook_url(services: Services, name: str) -> str | None:
    public_url = services.settings.public_url
    return f"{public_url.rstrip('/')}{WEBHOOKS}{name}" if public_url else None


def _read_chats(channel: str, chats: Mapping[str, ChatSettings]) -> dict[str, ChatOverrides]:
    found: dict[str, ChatOverrides] = {}
    for key, settings in chats.items():
        try:
            found[key] = ChatOverrides.from_json(settings.to_overrides())
        except InputError as error:
            raise SettingsError([f"chat {key!r} of the channel {channel}: {error}"]) from None
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
