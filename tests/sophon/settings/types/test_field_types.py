"""Values of settings: durations, choices, addresses, ids."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import SettingsError
from sophon.settings import Settings
from sophon.settings.types.field_types import format_duration, parse_duration
from sophon_hosting.settings.channels import ChannelsSettings
from tests.tables import table


@table(
    ("text", "expected"),
    [
        ("00:00:30", timedelta(seconds=30)),
        ("02:00:00", timedelta(hours=2)),
        ("1.12:00:00", timedelta(days=1, hours=12)),
        ("00:00:00.25", timedelta(milliseconds=250)),
        ("00:00:00.1234567", timedelta(microseconds=123456)),
    ],
)
def test_a_duration_is_written_as_dot_net_writes_it(text: str, expected: timedelta):
    assert parse_duration(text) == expected


@given(st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=99_999_999)))
def test_a_duration_is_read_as_it_is_written(value: timedelta):
    assert parse_duration(format_duration(value)) == value


@table("value", ["24:00:00", "00:60:00", "00:30", "30", 30, "-00:00:01", "00:00:00", "", None, "PT2H"])
def test_what_is_no_duration_is_told_how_to_write_one(value: object):
    with pytest.raises(SettingsError, match=r'^Approval.Timeout: .*"HH:MM:SS"') as refused:
        Settings.from_mapping({"Approval": {"Timeout": value}})
    assert f"Approval.Timeout: {value!r} is not a duration" in str(refused.value)


def test_a_choice_may_be_written_in_any_case():
    assert Settings.from_mapping({"Planning": {"Mode": "llmdecides"}}).planning.mode == "LlmDecides"


def test_ids_of_platforms_may_be_written_as_numbers():
    settings = Settings.from_mapping({"Channels": {"Telegram": {"AllowFrom": [4711, "@ada"], "AllowedGroups": [-100]}}})
    assert settings.section(ChannelsSettings).telegram.allow_from == ("4711", "@ada")
    assert settings.section(ChannelsSettings).telegram.allowed_groups == ("-100",)


@table("address", ["ftp://host", "host:80", "http://", "http://[::1", ""])
def test_an_address_is_a_web_address(address: str):
    with pytest.raises(SettingsError, match=r"^Channels.Telegram.ApiBase: .*URL"):
        Settings.from_mapping({"Channels": {"Telegram": {"ApiBase": address}}})


def test_a_password_in_a_web_address_is_refused_and_not_repeated():
    with pytest.raises(SettingsError) as caught:
        Settings.from_mapping({"Channels": {"Telegram": {"ApiBase": "https://me:hunter2@host"}}})
    assert "user name or password" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@table("path", ["module", "module:", ":function", "my-bot:make", "a..b:c", "a/b.py:c"])
def test_a_factory_is_an_import_path(path: str):
    with pytest.raises(SettingsError, match="is not an import path"):
        Settings.from_mapping({"Chain": {"Factory": path}})


def test_a_factory_is_not_imported_when_settings_are_read():
    assert Settings.from_mapping({"Chain": {"Factory": "no.such.module:make"}}).chain.factory == "no.such.module:make"
