"""Telegram credentials: the bot token, and the webhook secret."""

import re
from collections.abc import Mapping

from sophon.settings import TelegramSettings
from sophon_channels.errors import ChannelError
from sophon_channels.telegram.webhook import is_valid_secret

_TOKEN = re.compile(r"(?P<number>[0-9]{1,20}):[A-Za-z0-9_-]{3,100}")


def resolve_bot_token(settings: TelegramSettings, environment: Mapping[str, str]) -> str:
    """Return the bot token. Raises ChannelError if it is missing or malformed."""
    token = settings.token.resolve(environment) if settings.token else None
    origin = describe_token_origin(settings)
    if not token:
        raise ChannelError(f"Telegram has no token: {origin} is empty; set it to the token from @BotFather")
    if not _TOKEN.fullmatch(token):
        raise ChannelError(
            f"the value in {origin} is not a Telegram token; one looks like 123456:ABC, copy it from @BotFather again"
        )
    return token


def describe_token_origin(settings: TelegramSettings) -> str:
    """Return where the token is configured, for messages."""
    return settings.token.source_description if settings.token else "Channels.Telegram.Token"


def resolve_account(settings: TelegramSettings, environment: Mapping[str, str]) -> str:
    """Return the bot's numeric id, which is the first part of its token; "" without a valid token."""
    token = (settings.token.resolve(environment) if settings.token else None) or ""
    match = _TOKEN.fullmatch(token)
    return match["number"] if match else ""


def resolve_webhook_secret(settings: TelegramSettings, environment: Mapping[str, str]) -> str:
    """Return the webhook secret. Raises ChannelError if it is missing or Telegram would reject it."""
    secret = settings.webhook_secret.resolve(environment) if settings.webhook_secret else None
    if not secret:
        raise ChannelError(
            "the Telegram webhook has no secret, and without one anyone could send messages as anyone; "
            "set Channels.Telegram.WebhookSecret to 1-256 characters of A-Z, a-z, 0-9, _ and -"
        )
    if not is_valid_secret(secret):
        raise ChannelError(
            "Channels.Telegram.WebhookSecret has characters that Telegram rejects, or more than 256; "
            "allowed are A-Z, a-z, 0-9, _ and -"
        )
    return secret
