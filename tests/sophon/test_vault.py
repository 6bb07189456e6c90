"""The credential vault alone: who uses a credential, and what can be used at all."""

from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sophon import Services
from sophon.errors import ToolError
from sophon.security import redact
from sophon.settings import Settings
from sophon.vault import CredentialVault
from tests.tables import table

TOKEN = "sesame/open+1234="


def vault(environment: dict[str, str] | None = None, **values: object) -> CredentialVault:
    chosen: dict[str, Any] = {"Secret": TOKEN, "Hosts": ["api.example.com"], **values}
    return CredentialVault(Settings.from_mapping({"Vault": {"github": chosen}}).vault, environment or {})


def headers(of: CredentialVault, *, principal: str = "", data_owner: str = "", group: bool = False) -> dict[str, str]:
    return dict(of.lookup(principal=principal, data_owner=data_owner, group=group)("https", "api.example.com", 443))


@table(
    ("users", "turn", "attached"),
    [
        (None, {"principal": "anna"}, True),
        (None, {"principal": "anna", "data_owner": "group:1", "group": True}, True),
        (["anna"], {"principal": "anna", "data_owner": "anna"}, True),
        (["anna"], {"principal": "Anna"}, False),
        (["anna"], {"principal": "ben", "data_owner": "anna"}, False),
        (["anna"], {}, False),
        ([], {"principal": "anna"}, False),
        (["local"], {}, True),
        (["anna"], {"principal": "anna", "data_owner": "group:1", "group": True}, False),
        (["anna"], {"principal": "anna", "data_owner": "", "group": True}, False),
        (["local"], {"principal": "local", "data_owner": "", "group": True}, False),
        (["group:1"], {"principal": "ben", "data_owner": "group:1", "group": True}, True),
        (["group:1"], {"principal": "ben", "data_owner": "group:2", "group": True}, False),
    ],
)
def test_only_turns_of_the_named_principals_use_a_credential(
    users: list[str] | None, turn: dict[str, Any], attached: bool
) -> None:
    assert bool(headers(vault(Users=users), **turn)) is attached


def test_the_scheme_must_be_https() -> None:
    lookup = vault(Hosts=["api.example.com:80", "api.example.com"]).lookup(principal="", data_owner="", group=False)
    assert not lookup("http", "api.example.com", 80)
    assert not lookup("http", "api.example.com", 443)
    assert lookup("https", "api.example.com", 80) == {"authorization": f"Bearer {TOKEN}"}


@table("value", ["", "   ", "t0o5m4l", "two\nlines-of-text", "with\x00zero-byte", "schlüssel-lang"])
def test_a_secret_that_cannot_be_sent_or_redacted_is_an_error_without_its_value(value: str) -> None:
    used = vault({"TOKEN": value}, Secret={"$env": "TOKEN"})
    with pytest.raises(ToolError) as caught:
        headers(used)
    assert "'github'" in str(caught.value)
    assert not value.strip() or value not in f"{caught.value}{used.credentials}"


def test_secrets_come_from_the_environment_and_from_files(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    expected = {"authorization": f"Bearer {TOKEN}"}
    assert headers(vault(Secret={"$file": str(tmp_path / "token")})) == expected
    assert headers(vault({"T": TOKEN}, Secret={"$env": "T"})) == expected


@table(
    "form",
    [TOKEN, quote(TOKEN, safe=""), b64encode(f"user:{TOKEN}".encode()).decode(), TOKEN.replace("/", "\\/")],
)
def test_a_secret_is_redacted_in_every_form(form: str) -> None:
    shown = vault().redact(f"echo {form} end")
    assert form not in shown
    assert shown.startswith("echo ")
    assert form not in redact(form)


def test_the_end_of_a_text_that_was_cut_cannot_hold_half_a_secret() -> None:
    assert TOKEN[:9] not in vault().redact(f"{'x' * 500}{TOKEN[:9]}", is_complete=False)


def test_the_password_of_basic_authentication_is_redacted_too() -> None:
    used = vault(Secret=b64encode(b"robot:opensesame99").decode(), Prefix="Basic ")
    assert "opensesame99" not in used.redact('{"user": "robot", "password": "opensesame99"}')


def test_a_credential_is_not_in_the_text_of_the_vault() -> None:
    used = vault()
    assert used.credentials[0].value.endswith(TOKEN)
    assert TOKEN not in f"{used!r}{used.credentials!r}"


def test_without_credentials_texts_stay_as_they_are() -> None:
    empty = CredentialVault({}, {})
    assert empty.redact("abc", is_complete=False) == "abc"
    assert headers(empty) == {}


def test_services_take_the_secrets_from_the_environment_of_the_host(tmp_path: Path) -> None:
    settings = Settings.from_mapping({"Vault": {"github": {"Secret": {"$env": "T"}, "Hosts": ["api.example.com"]}}})
    services = Services.from_settings(settings, environment={"T": TOKEN}, folder=tmp_path)
    assert headers(services.security.vault) == {"authorization": f"Bearer {TOKEN}"}
    assert services.security.vault.has_header("AUTHORIZATION")


@table(
    ("url", "principal", "names"),
    [
        ("https://api.example.com/x", "anna", ["github"]),
        ("https://api.example.com/x", "ben", []),
        ("http://api.example.com/x", "anna", []),
        ("https://api.example.com:444/x", "anna", []),
        ("https://other.example.com/x", "anna", []),
        ("https://[", "anna", []),
        ("", "anna", []),
    ],
)
def test_the_names_for_a_request_are_those_of_the_credentials_that_it_gets(
    url: str, principal: str, names: list[str]
) -> None:
    assert vault(Users=["anna"]).list_names(url, principal=principal, data_owner=principal, group=False) == names
