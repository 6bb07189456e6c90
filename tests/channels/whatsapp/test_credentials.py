import pytest

from sophon.settings import Secret
from sophon_channels.errors import ChannelError
from sophon_channels.whatsapp.credentials import WhatsAppCredentials, find_credential_problems, resolve_credentials
from sophon_channels.whatsapp.settings import WhatsAppSettings

ENVIRONMENT = {"TOKEN": "EAAG1", "SECRET": "app secret", "WORD": "our own word"}


def settings(number_id: str | None = "106500000000001", *, secrets: bool = True) -> WhatsAppSettings:
    if not secrets:
        return WhatsAppSettings(phone_number_id=number_id)
    return WhatsAppSettings(
        phone_number_id=number_id,
        access_token=Secret("TOKEN", "$env"),
        app_secret=Secret("SECRET", "$env"),
        verify_token=Secret("WORD", "$env"),
    )


def test_all_four_are_needed_and_read() -> None:
    assert resolve_credentials(settings(), ENVIRONMENT) == WhatsAppCredentials(
        "106500000000001", "EAAG1", "app secret", "our own word"
    )
    assert find_credential_problems(settings(), ENVIRONMENT) == []


@pytest.mark.parametrize("number_id", [None, "+15550001111", "１２３", "1 555", "WABA"])
def test_what_is_no_id_of_a_number_says_where_it_stands(number_id: str | None) -> None:
    with pytest.raises(ChannelError, match="not the phone number itself"):
        resolve_credentials(settings(number_id), ENVIRONMENT)


@pytest.mark.parametrize("token", ["tökén", "two words", "two\nlines", "\x7f"])
def test_what_cannot_be_a_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ChannelError, match="environment variable TOKEN is not an AccessToken") as raised:
        resolve_credentials(settings(), ENVIRONMENT | {"TOKEN": token})
    assert token not in str(raised.value)


def test_every_mistake_is_told_at_once() -> None:
    found = find_credential_problems(settings("+1", secrets=False), {})
    names = ["PhoneNumberId", "AccessToken", "AppSecret", "VerifyToken"]
    assert [name in problem for name, problem in zip(names, found, strict=True)] == [True] * 4
