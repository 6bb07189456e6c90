"""Dangerous settings of channels: people and groups that are let in, and keys that are sent unencrypted."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from sophon.settings import Settings
from sophon_channels.telegram.settings import TelegramSettings
from sophon_channels.whatsapp.settings import WhatsAppSettings
from sophon_hosting.dangerous_settings.catalog import DangerousSetting
from sophon_hosting.settings.channels import ChannelsSettings
from sophon_hosting.settings.hub import is_loopback


def list_channels(channels: ChannelsSettings) -> Mapping[str, TelegramSettings | WhatsAppSettings]:
    """Return the settings of all channels of the settings by their paths below `Sophon`."""
    return {
        "Channels.Telegram": channels.telegram,
        "Channels.WhatsApp": channels.whatsapp,
        **{f"Channels.TelegramBots.{name}": each for name, each in channels.telegram_bots.items()},
        **{f"Channels.WhatsAppNumbers.{name}": each for name, each in channels.whatsapp_numbers.items()},
    }


def find_in_channels(settings: Settings) -> Iterator[DangerousSetting]:
    """Yield the dangerous settings of `Channels`."""
    unasked = settings.approval.auto_approve_up_to in ("High", "Critical") or settings.approval.ask_from == "Critical"
    and_risky = ", calls of High risk included, without anybody being asked" if unasked else ""
    for path, channel in list_channels(settings.section(ChannelsSettings)).items():
        if channel.enabled and channel.direct_policy == "Open":
            yield DangerousSetting(
                "open_channel",
                f"{path}.DirectPolicy Open",
                f"everybody who finds the account uses your models and tools at your cost{and_risky}",
                "set it to Pairing",
            )
        if channel.enabled and isinstance(channel, TelegramSettings) and channel.group_policy == "All":
            whose = "every group" if channel.direct_policy == "Open" else "an allowed person or group"
            yield DangerousSetting(
                "open_groups",
                f"{path}.GroupPolicy All",
                f"every message of {whose} starts a turn{and_risky}",
                "set it to MentionOnly",
            )


def find_in_urls(settings: Settings) -> Iterator[DangerousSetting]:
    """Yield the URLs of providers and platforms to which keys are sent unencrypted."""
    urls = [(f"Providers[{each.id}].BaseUrl", each.base_url if each.keys else None) for each in settings.providers]
    channels = list_channels(settings.section(ChannelsSettings)).items()
    urls += [(f"{path}.ApiBase", each.api_base if each.enabled else None) for path, each in channels]
    for path, url in urls:
        parts = urlsplit(url or "")
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            yield DangerousSetting(
                "plain_http_provider",
                f"{path} with http",
                "the key and the conversations cross the network unencrypted",
                "use https",
            )
