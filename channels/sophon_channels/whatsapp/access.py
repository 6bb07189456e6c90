"""What a number needs to be let in: its id at Meta, the token that sends, and the two secrets of the webhook."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sophon.settings import Secret, WhatsAppSettings
from sophon_channels.errors import ChannelError

SECTION = "Channels.WhatsApp"


@dataclass(frozen=True, slots=True)
class Access:
    """All of it, each a text that is not empty."""

    number_id: str
    token: str
    app_secret: str
    verify_token: str


def access(settings: WhatsAppSettings, environment: Mapping[str, str]) -> Access:
    """Raises ChannelError for the first thing that is missing, or cannot be what it should be."""
    return Access(
        _number_id(settings),
        _token(settings, environment),
        _secret("AppSecret", settings.app_secret, environment),
        _secret("VerifyToken", settings.verify_token, environment),
    )


def webhook_secrets(settings: WhatsAppSettings, environment: Mapping[str, str]) -> tuple[str, str]:
    """The app secret and the verify token. Raises ChannelError without one of them."""
    app_secret = _secret("AppSecret", settings.app_secret, environment)
    return app_secret, _secret("VerifyToken", settings.verify_token, environment)


def mistakes(settings: WhatsAppSettings, environment: Mapping[str, str]) -> list[str]:
    """Everything that `access` would refuse, at once."""
    reads: list[Callable[[], object]] = [
        lambda: _number_id(settings),
        lambda: _token(settings, environment),
        lambda: _secret("AppSecret", settings.app_secret, environment),
        lambda: _secret("VerifyToken", settings.verify_token, environment),
    ]
    return [problem for read in reads if (problem := _problem(read)) is not None]


def _problem(read: Callable[[], object]) -> str | None:
    try:
        read()
    except ChannelError as error:
        return str(error)
    return None


def _number_id(settings: WhatsAppSettings) -> str:
    number_id = settings.phone_number_id or ""
    if not (number_id.isascii() and number_id.isdigit()):
        raise ChannelError(
            f"{SECTION}.PhoneNumberId is {number_id!r}: it is the number's id at Meta, all digits, and not the "
            "phone number itself; it stands in the app dashboard under WhatsApp, API Setup"
        )
    return number_id


def _token(settings: WhatsAppSettings, environment: Mapping[str, str]) -> str:
    token = _secret("AccessToken", settings.access_token, environment)
    if not (token.isascii() and token.isprintable()) or " " in token:
        origin = settings.access_token.origin if settings.access_token else f"{SECTION}.AccessToken"
        raise ChannelError(
            f"what stands in {origin} is no AccessToken: one is of letters and digits, without spaces; copy it again"
        )
    return token


def _secret(name: str, secret: Secret | None, environment: Mapping[str, str]) -> str:
    value = secret.resolve(environment) if secret else None
    if not value:
        origin = secret.origin if secret else f"{SECTION}.{name}"
        raise ChannelError(f"WhatsApp has no {name}: {origin} is empty; docs/whatsapp.md says where Meta shows it")
    return value
