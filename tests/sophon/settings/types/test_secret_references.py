"""Secrets: where they are found, and that nothing ever shows them."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from sophon.errors import SettingsError
from sophon.settings import Secret, SecretUrl, Settings, load_settings, redact_settings
from sophon_hosting.settings.channels import ChannelsSettings
from sophon_hosting.settings.hub import HubSettings
from tests.tables import table

HUSH = "hunter2-topsecret"

EVERYWHERE = {
    "Providers": [{"Id": "a", "Type": "openai", "Keys": [HUSH]}],
    "Store": {"Url": f"postgresql://ada:{HUSH}@db.example/sophon?password={HUSH}"},
    "Hub": {"Users": [{"Id": "ada", "Token": HUSH}]},
    "Channels": {
        "Telegram": {"Token": HUSH, "WebhookSecret": HUSH},
        "WhatsApp": {"AccessToken": HUSH, "AppSecret": HUSH, "VerifyToken": HUSH},
    },
}


def test_an_environment_variable_is_read_when_it_is_needed():
    secret = Secret.parse({"$env": "KEY"})
    assert secret.resolve({"KEY": " sk-1\n"}) == "sk-1"
    assert secret.resolve({"KEY": ""}) is None
    assert secret.resolve({}) is None


def test_a_file_is_read_when_it_is_needed(tmp_path: Path):
    secret = Secret.parse({"$file": str(tmp_path / "token")})
    assert secret.resolve({}) is None
    (tmp_path / "token").write_text("sk-2\n")
    assert secret.resolve({}) == "sk-2"


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe\x00"])
def test_a_file_without_a_text_holds_no_secret(tmp_path: Path, content: bytes):
    (tmp_path / "token").write_bytes(content)
    assert Secret.parse({"$file": str(tmp_path / "token")}).resolve({}) is None
    assert Secret.parse({"$file": str(tmp_path)}).resolve({}) is None


def test_a_relative_path_counts_from_the_folder_of_the_settings(tmp_path: Path):
    (tmp_path / "token").write_text("from a file")
    text = '{"Sophon": {"Providers": [{"Id": "a", "Type": "openai", "Keys": [{"$file": "token"}]}]}}'
    (tmp_path / "appsettings.json").write_text(text)
    variables = {"SOPHON__Channels__Telegram__Token": '{"$file": "token"}'}
    settings = load_settings(folder=tmp_path, environment=variables)
    assert settings.providers[0].keys[0].resolve({}) == "from a file"
    assert settings.section(ChannelsSettings).telegram.token is not None
    assert settings.section(ChannelsSettings).telegram.token.resolve({}) == "from a file"


def test_a_plain_text_is_allowed_and_known_as_one():
    assert Secret.parse("sk-3").resolve({}) == "sk-3"
    assert Secret.parse("sk-3").is_plain
    assert not Secret.parse({"$env": "KEY"}).is_plain
    assert Secret.parse({"$env": "KEY"}).source_description == "environment variable KEY"


def test_nothing_shows_a_plain_secret():
    settings = Settings.from_mapping(EVERYWHERE)
    shown = [
        repr(settings),
        str(settings),
        str(settings.model_dump()),
        settings.model_dump_json(),
        json.dumps(redact_settings(settings)),
        f"{settings.section(HubSettings).users[0].token} {settings.section(HubSettings).users[0].token!r}",
        str(vars(settings)),
    ]
    assert HUSH not in "".join(shown)
    assert settings.section(HubSettings).users[0].token.resolve({}) == HUSH


def test_a_reference_is_shown_as_it_is_written():
    settings = Settings.from_mapping({"Hub": {"Users": [{"Id": "ada", "Token": {"$env": "SOPHON_TOKEN"}}]}})
    assert redact_settings(settings)["Hub"]["Users"][0]["Token"] == {"$env": "SOPHON_TOKEN"}
    assert Settings.from_mapping(redact_settings(settings)) == settings


@table(
    "wrong",
    [
        {"Providers": [{"Id": "a", "Type": "openai", "Keys": HUSH}]},
        {"Providers": [{"Id": "a", "Type": "openai", "Keys": [[HUSH]]}]},
        {"Providers": [{"Id": "a", "Type": "openai", "Keys": [{"env": HUSH}]}]},
        {"Providers": [{"Id": "a", "Type": "openai", "Key": HUSH}]},
        {"Providers": HUSH},
        {"Providers": [HUSH]},
        {"Hub": {"Users": {"ada": HUSH}}},
        {"Hub": {"Users": [{"Id": "ada", "Token": {"$env": "A", "$file": HUSH}}]}},
        {"Channels": {"Telegram": HUSH}},
        {"Channels": {"Telegram": {"Token": [HUSH]}}},
        {"Store": HUSH},
        {**EVERYWHERE, "Hub": {"Port": "abc"}},
    ],
)
def test_no_error_shows_a_secret(wrong: dict[str, object]):
    with pytest.raises(SettingsError) as caught:
        Settings.from_mapping(wrong)
    assert HUSH not in str(caught.value)
    assert caught.value.__cause__ is None
    with pytest.raises(ValidationError) as raised:
        Settings.model_validate(wrong)
    assert HUSH not in str(raised.value)


@table(
    ("url", "shown"),
    [
        ("sqlite:///data/sophon.db", "sqlite:///data/sophon.db"),
        ("sqlite:////var/sophon.db", "sqlite:////var/sophon.db"),
        ("postgresql://db/sophon", "postgresql://db/sophon"),
        ("postgresql://ada:pw@db/sophon", "postgresql://***@db/sophon"),
        ("postgresql://ada:p@w/x@db/sophon", "postgresql://***@db/sophon"),
        ("postgresql://db/sophon?password=pw", "postgresql://db/sophon?***"),
        ("postgresql://ada:p?w@db/sophon", "***"),
        ("postgresql://db/sophon?password=p@w", "***"),
        ("ada:pw@db", "***"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str):
    secret = SecretUrl.parse(url)
    assert secret.to_redacted_json() == shown
    assert secret.is_plain == (shown != url)
    assert secret.resolve({}) == url
