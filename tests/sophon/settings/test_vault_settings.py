"""The setting Vault: what is refused, each with one clear sentence that never holds the secret."""

from typing import Any

import pytest

from sophon.errors import SettingsError
from sophon.settings import Settings
from tests.tables import table

TOKEN = "sesame-open-1234"


def credential(**values: object) -> dict[str, Any]:
    return {"Secret": TOKEN, "Hosts": ["api.example.com"], **values}


def problems(**vault: dict[str, Any]) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.from_mapping({"Vault": vault})
    assert TOKEN not in str(caught.value)
    return str(caught.value)


@table(
    "header",
    [
        *("", "Host", "host", "Content-Length", "content_length", "Content-Type", "Transfer-Encoding", "Connection"),
        *("Proxy-Authorization", "X-Forwarded-For", "Sec-Fetch-Site", "User-Agent", "X-Token:", "X Token", "X-T\r\nY"),
    ],
)
def test_a_header_that_is_none_of_a_credential_is_refused(header: str) -> None:
    assert "Vault.github.Header" in problems(github=credential(Header=header))


@table("prefix", [" ", " x", "a\r\nHost: x", "ä"])
def test_a_prefix_is_printable_text(prefix: str) -> None:
    assert "Vault.github.Prefix" in problems(github=credential(Prefix=prefix))


@table("hosts", [[], ["https://api.example.com"], ["*.com"], ["*"]])
def test_hosts_are_names_and_at_least_one(hosts: list[str]) -> None:
    assert "Vault.github.Hosts" in problems(github=credential(Hosts=hosts))


@table(
    ("one", "other"),
    [
        ({}, {}),
        ({"Header": "authorization"}, {"Users": ["anna"]}),
        ({"Hosts": ["*.example.com"]}, {}),
        ({"Users": ["anna", "ben"]}, {"Users": ["ben"]}),
        ({"Header": "X_Key"}, {"Header": "x-key"}),
    ],
)
def test_two_credentials_for_one_header_of_one_request_are_refused(one: dict[str, Any], other: dict[str, Any]) -> None:
    text = problems(first=credential(**one), second=credential(**other))
    assert "'second': 'first' sets" in text
    assert "api.example.com" in text


@table(
    ("one", "other"),
    [
        ({"Users": ["anna"]}, {"Users": ["ben"]}),
        ({"Header": "DD-API-KEY"}, {"Header": "DD-APPLICATION-KEY"}),
        ({"Hosts": ["api.example.com:8443"]}, {}),
    ],
)
def test_credentials_that_never_meet_may_share_a_host(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert len(Settings.from_mapping({"Vault": {"a": credential(**one), "b": credential(**other)}}).vault) == 2


@table(("values", "prefix"), [({}, "Bearer "), ({"Header": "X-Api-Key"}, ""), ({"Prefix": "token "}, "token ")])
def test_the_prefix_follows_the_header(values: dict[str, Any], prefix: str) -> None:
    assert Settings.from_mapping({"Vault": {"a": credential(**values)}}).vault["a"].effective_prefix == prefix


def test_the_secret_is_in_no_dump() -> None:
    settings = Settings.from_mapping({"Vault": {"github": credential()}})
    assert TOKEN not in f"{settings!r}{settings.model_dump_json(by_alias=True)}"


def test_an_invalid_host_is_reported_once_and_an_empty_list_by_its_length() -> None:
    assert "Tuple" not in problems(github=credential(Hosts=["https://api.example.com/x"]))
    empty = problems(github=credential(Hosts=[]))
    assert "Vault.github.Hosts: the list has 0 entries; at least 1 are expected" in empty
