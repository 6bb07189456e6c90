"""`sophon models`, `sophon help`, and what wrong input gets."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sophon_hosting.cli.app import load_commands

Command = Callable[..., Any]


def test_the_models_are_listed_with_prices_and_capabilities(folder: Path, sophon: Command) -> None:
    provider = {"Id": "a", "Type": "openai", "Models": ["gpt-5-mini"], "Keys": [{"$env": "NO_SUCH_KEY"}, "sk-abcdefgh"]}
    off = {**provider, "Id": "b", "Active": False}
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": {"Providers": [provider, off]}}))
    shown = sophon("models")
    assert shown.code == 0, shown.err
    assert "a/gpt-5-mini" in shown.out
    assert "b/gpt-5-mini" not in shown.out
    assert "sk-abcdefgh" not in shown.out + shown.err
    assert "the first one answers: a/gpt-5-mini" in shown.out
    (found,) = json.loads(sophon("models", "--json").out)
    assert found["model"] == "a/gpt-5-mini"
    assert found["context_window"] > 1000


def test_help_is_that_of_the_command(folder: Path, sophon: Command) -> None:
    listed = sophon("help")
    assert listed.code == 0
    assert all(f"  {name}" in listed.out for name in load_commands())
    assert sophon("help", "trace", "replay").out == sophon("trace", "replay", "--help").out
    assert sophon("help", "chat").out == sophon("chat", "--help").out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("help", "chatt"), "there is no command 'chatt'; did you mean chat or chain?"),
        (("help", "chat", "now"), "there is no command 'now'"),
        (("models", "x"), "this is too much: x"),
        (("config", "show", "a", "b"), "this is too much: a b"),
        (("trace", "replay"), "missing argument"),
        (("agents", "check", "a\0b"), "it must not contain a null character"),
    ],
)
def test_wrong_input_gets_one_plain_sentence(
    arguments: tuple[str, ...], expected: str, folder: Path, sophon: Command
) -> None:
    wrong = sophon(*arguments)
    assert wrong.code == 2
    (line,) = wrong.err.splitlines()
    assert expected in line
    assert "Input should" not in line


def test_a_missing_policy_is_named_without_the_words_of_the_system(folder: Path, sophon: Command) -> None:
    for arguments in (
        ("config", "validate", "--set", "Guards.Shield.PolicyFile=nofile"),
        ("policy", "test", "x", "{}", "--policy", "nofile"),
    ):
        wrong = sophon(*arguments)
        assert wrong.code != 0
        assert "'nofile' cannot be read: No such file or directory" in wrong.err
        assert "Errno" not in wrong.err


def test_validate_looks_secrets_up(folder: Path, sophon: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {
        "Hub": {"Users": [{"Id": "owner", "Token": {"$env": "NO_SUCH_TOKEN"}, "Operator": True}]},
        "Channels": {"Telegram": {"Enabled": True, "Token": {"$file": "missing"}}, "WhatsApp": {"Enabled": False}},
        "Providers": [
            {"Id": "a", "Type": "openai", "Models": ["gpt-5-mini"], "Keys": [{"$env": "NO_KEY"}, "sk-abcdefgh"]}
        ],
    }
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": settings}))
    found = sophon("config", "validate")
    assert found.code == 1
    assert found.err.splitlines() == [
        "error: Hub.Users[0].Token: the environment variable NO_SUCH_TOKEN is missing or empty",
        "error: Channels.Telegram.Token: the file missing is missing or empty",
    ]
    assert json.loads(sophon("config", "validate", "--json").out)["valid"] is False
    monkeypatch.setenv("NO_SUCH_TOKEN", "a-token-of-some-length")
    (folder / "missing").write_text("12345:abcdefghijklmnopqrstuvwxyz")
    fine = sophon("config", "validate")
    assert "abcdefghijklmnop" not in fine.out + fine.err
