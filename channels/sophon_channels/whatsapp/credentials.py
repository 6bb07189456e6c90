"""WhatsApp credentials: the phone number id, the access token, and the two secrets of the webhook."""

from collections.abc import Callable, Mapping

from sophon._python.lazy_dataclass import dataclass
from sophon.settings import Secret
from sophon_channels.errors import ChannelError
from sophon_channels.whatsapp.settings import WhatsAppSettings

SETTINGS_SECTION = "Channels.WhatsApp"
"""Path of the settings, for messages."""


@dataclass(frozen=True, slots=True)
class WhatsAppCredentials:
    """Credentials of one phone number; none of them is empty."""

    number_id: str
    token: str
    app_secret: str
    verify_token: str


def resolve_credentials(settings: WhatsAppSettings, environment: Mapping[str, str]) -> WhatsAppCredentials:
    """Return the credentials. Raises ChannelError for the first one that is missing or malformed."""
    return WhatsAppCredentials(
        _number_id(settings),
        _token(settings, environment),
        _secret("AppSecret", settings.app_secret, environment),
        _secret("VerifyToken", settings.verify_token, environment),
    )


def resolve_webhook_secrets(settings: WhatsAppSettings, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the app secret and the verify token. Raises ChannelError if one is missing."""
    app_secret = _secret("AppSecret", settings.app_secret, environment)
    return app_secret, _secret("VerifyToken", settings.verify_token, environment)


def find_credential_problems(settings: WhatsAppSettings, environment: Mapping[str, str]) -> list[str]:
    """Return the messages of all errors that `resolve_credentials` would raise."""
    checks: list[Callable[[], object]] = [
        lambda: _number_id(settings),
        lambda: _token(settings, environment),
        lambda: _secret("AppSecret", settings.app_secret, environment),
        lambda: _secret("VerifyToken", settings.verify_token, environment),
    ]
    return [message for check in checks if (message := _error_message(check)) is not None]


def _error_message(check: Callable[[], object]) -> str | None:
    try:
        check()
    except ChannelError as error:
        return str(error)
    return None


def _number_id(settings: WhatsAppSettings) -> str:
    number_id = settings.phone_number_id or ""
    if not (number_id.isascii() and number_id.isdigit()):
        raise ChannelError(
            f"{SETTINGS_SECTION}.PhoneNumberId is {number_id!r}: it is the number's id at Meta, all digits, and not "
            "the phone number itself; the app dashboard shows it under WhatsApp, API Setup"
        )
    return number_id


def _token(settings: WhatsAppSettings, environment: Mapping[str, str]) -> str:
    token = _secret("AccessToken", settings.access_token, environment)
    if not (token.isascii() and token.isprintable()) or " " in token:
        origin = (
            settings.access_token.source_description if settings.access_token else f"{SETTINGS_SECTION}.AccessToken"
        )
        raise ChannelError(
            f"the value in {origin} is not an AccessToken: one has letters and digits, without spaces; copy it again"
        )
    return token


def _secret(name: str, secret: Secret | None, environment: Mapping[str, str]) -> str:
    value = secret.resolve(environment) if secret else None
    if not value:
        origin = secret.source_description if secret else f"{SETTINGS_SECTION}.{name}"
        raise ChannelError(f"WhatsApp has no {name}: {origin} is empty; docs/whatsapp.md says where Meta shows it")
    return value
