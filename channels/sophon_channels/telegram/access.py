"""What a bot needs to be let in: its token, and for a webhook the secret."""

import re
from collections.abc import Mapping

from sophon.settings import TelegramSettings
from sophon_channels.errors import ChannelError
from sophon_channels.telegram.webhook import is_secret

_TOKEN = re.compile(r"(?P<number>[0-9]{1,20}):[A-Za-z0-9_-]{3,100}")


def bot_token(settings: TelegramSettings, environment: Mapping[str, str]) -> str:
    """The token. Raises ChannelError where there is none, or what there is cannot be one."""
    token = settings.token.resolve(environment) if settings.token else None
    origin = token_origin(settings)
    if not token:
        raise ChannelError(f"Telegram has no token, since {origin} is empty; put there what @BotFather gave you")
    if not _TOKEN.fullmatch(token):
        raise ChannelError(
            f"what stands in {origin} is no token of Telegram; one looks like 123456:ABC, copy it from @BotFather again"
        )
    return token


def token_origin(settings: TelegramSettings) -> str:
    """Where the token stands, for messages."""
    return settings.token.origin if settings.token else "Channels.Telegram.Token"


def account_of(settings: TelegramSettings, environment: Mapping[str, str]) -> str:
    """The number of the bot, which stands at the head of its token; "" without one."""
    token = (settings.token.resolve(environment) if settings.token else None) or ""
    found = _TOKEN.fullmatch(token)
    return found["number"] if found else ""


def webhook_secret(settings: TelegramSettings, environment: Mapping[str, str]) -> str:
    """The secret of the webhook. Raises ChannelError where there is none, or Telegram would refuse it."""
    secret = settings.webhook_secret.resolve(environment) if settings.webhook_secret else None
    if not secret:
        raise ChannelError(
            "the webhook of Telegram has no secret, and without one everybody could write as anybody; "
            "set Channels.Telegram.WebhookSecret to 1-256 characters of A-Z, a-z, 0-9, _ and -"
        )
    if not is_secret(secret):
        raise ChannelError(
            "Channels.Telegram.WebhookSecret has characters that Telegram refuses, or more than 256; "
            "allowed are A-Z, a-z, 0-9, _ and -"
        )
    return secret
