"""The channels of the settings, and those that installed packages bring (entry points `sophon.channels`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from sophon.errors import SophonError
from sophon.plugins import loaded, offered
from sophon.services import Services
from sophon_channels.contract import Channel
from sophon_channels.errors import ChannelError
from sophon_channels.rules.policy import Policy

GROUP = "sophon.channels"


@dataclass(frozen=True, slots=True)
class Configured:
    """A channel, and who may write there."""

    channel: Channel
    policy: Policy = field(default_factory=Policy)


def channels_of(services: Services, environment: Mapping[str, str]) -> list[Configured]:
    """Those that are enabled. Nothing of a platform is imported for one that is not."""
    return [
        *_telegram(services, environment),
        *_whatsapp(services, environment),
        *_installed(services, environment),
    ]


def _telegram(services: Services, environment: Mapping[str, str]) -> list[Configured]:
    settings = services.settings.channels.telegram
    if not settings.enabled:
        return []
    from sophon_channels.telegram.channel import TelegramChannel  # lazy: only where it is enabled

    policy = Policy(
        frozenset(settings.allow_from),
        frozenset(settings.approvers),
        settings.direct_policy,
        settings.group_policy,
        frozenset(settings.allowed_groups),
    )
    return [Configured(TelegramChannel(settings, environment, services.clock), policy)]


def _whatsapp(services: Services, environment: Mapping[str, str]) -> list[Configured]:
    settings = services.settings.channels.whatsapp
    if not settings.enabled:
        return []
    from sophon_channels.whatsapp.channel import WhatsAppChannel  # lazy: only where it is enabled

    policy = Policy(frozenset(settings.allow_from), frozenset(settings.approvers), settings.direct_policy)
    return [Configured(WhatsAppChannel(settings, environment, services.clock), policy)]


def _installed(services: Services, environment: Mapping[str, str]) -> list[Configured]:
    """Each a function of services and environment that gives a `Configured`, or None where it has nothing to do."""
    found: list[Configured] = []
    for name, entry in sorted(offered(GROUP).items()):
        make = cast("Callable[[Services, Mapping[str, str]], Configured | None]", loaded(entry))
        try:
            made = make(services, environment)
        except SophonError:
            raise
        except Exception as error:
            raise ChannelError(f"the channel {name!r} ({entry.value}) cannot be made: {error}") from error
        if made is not None:
            found.append(made)
    return found
