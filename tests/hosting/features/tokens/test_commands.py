"""`sophon tokens`: a token is shown once, listed without itself, and revoked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sophon.security.authorization.api_tokens import digest_api_token
from tests.databases import copy_database

Command = Callable[..., Any]

USERS = [
    {"Id": "ada", "Token": "a long token of ada"},
    {"Id": "olga", "Token": "a long token of olga", "Operator": True},
]


@pytest.fixture(autouse=True)
def settings(folder: Path) -> None:
    copy_database(folder)
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": {"Hub": {"Users": USERS}}}))


def test_a_token_is_shown_once_and_stored_as_a_digest(sophon: Command, folder: Path) -> None:
    created = sophon("tokens", "create", "ada", "--scope", "chat", "--scope", "READ", "--name", "laptop")
    secret = created.out.strip()
    assert (created.code, secret[:7], len(secret)) == (0, "sophon_", 50)
    assert "not shown again" in created.err

    listed = sophon("tokens", "list", "--json")
    [token] = listed.json
    assert token["level"] == "User"
    assert (token["user"], token["name"], token["scopes"]) == ("ada", "laptop", ["Read", "Chat"])
    assert (token["status"], token["last_used_at"]) == ("valid", None)
    stored = b"".join(path.read_bytes() for path in (folder / "data").iterdir())
    assert secret.encode() not in stored
    assert digest_api_token(secret).encode() in stored
    assert secret not in listed.out
    assert "laptop" in sophon("tokens", "list", "--user", "ada").out
    assert sophon("tokens", "list", "--user", "olga").out == "There are no tokens.\n"


def test_tokens_of_the_command_are_in_the_audit_log_as_those_of_operators_are(sophon: Command) -> None:
    token = sophon("tokens", "create", "ada", "--scope", "Read", "--json").json
    sophon("tokens", "revoke", token["id"])
    entries = sophon("audit", "list", "--json").json
    assert {(each["capability"], each["rule"], each["outcome"]) for each in entries} == {
        ("token", token["id"], "created"),
        ("token", token["id"], "revoked"),
    }


def test_a_revoked_token_stays_in_the_list(sophon: Command) -> None:
    token = sophon("tokens", "create", "olga", "--scope", "Operator", "--never-expires", "--json").json
    assert token["expires_at"] is None
    assert sophon("tokens", "revoke", token["id"]).out == f"token {token['id']} of olga is revoked\n"
    [listed] = sophon("tokens", "list", "--json").json
    assert (listed["status"], listed["level"]) == ("revoked", "Admin")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("create", "bob", "--scope", "Read"), "'bob' is none of Hub.Users: ada, olga"),
        (("create", "ada", "--scope", "Fly"), "the scope 'Fly' is none of Read, Chat"),
        (("create", "ada", "--scope", "Operator"), "the user is no operator"),
        (("create", "ada"), "--scope"),
        (("create", "ada", "--scope", "Read", "--days", "0"), "--days"),
        (("create", "ada", "--scope", "Read", "--name", "x" * 101), "name: it must have at most 100 characters"),
        (("revoke", "nothing"), "there is no token 'nothing'"),
    ],
)
def test_what_cannot_be_is_one_error(sophon: Command, arguments: tuple[str, ...], problem: str) -> None:
    outcome = sophon("tokens", *arguments)
    assert outcome.code != 0
    assert problem in outcome.err
    assert outcome.out == ""


def test_a_host_without_users_has_no_tokens(sophon: Command, folder: Path) -> None:
    (folder / "appsettings.json").write_text("{}")
    assert "every client is an operator" in sophon("tokens", "create", "ada", "--scope", "Read").err
