"""Secrets of the settings: redaction knows them from the start, whether anything uses them or not."""

import logging
import os
from pathlib import Path

import pytest

from sophon import Services
from sophon.composition.configured_secrets import collect_secrets
from sophon.errors import SettingsError
from sophon.security import redact
from sophon.settings import Settings
from sophon.settings.loader import load_with_layers
from sophon_hosting.features.settings.live_settings import LiveSettings

NOBODY = {"OLLAMA_HOST": "127.0.0.1:9"}
WORDS = "correct-horse-battery-{}"
"""Secrets of no form that could be recognised."""


def settings_with_secrets(folder: Path) -> Settings:
    (folder / "token").write_text(f"{WORDS.format('file')}\n")
    return Settings.from_mapping(
        {
            "Store": {"Url": "memory://"},
            "Hub": {"Users": [{"Id": "ada", "Token": {"$env": "ADA"}}, {"Id": "bob", "Token": WORDS.format("plain")}]},
            "Channels": {
                "Telegram": {"Enabled": False, "Token": {"$file": str(folder / "token")}, "Proxy": {"$env": "PROXY"}},
                "WhatsApp": {"AppSecret": {"$env": "NOT_SET"}, "VerifyToken": {"$file": str(folder / "missing")}},
            },
        }
    )


def test_services_know_every_secret_that_can_be_resolved(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    words = {name: WORDS.format(name) for name in ("ADA", "MISTRAL_API_KEY")}
    environment = {**NOBODY, **words, "PROXY": f"http://me:{WORDS.format('proxy')}@proxy:1"}

    Services.from_settings(settings_with_secrets(tmp_path), environment=environment, folder=tmp_path)

    known = [*words.values(), *map(WORDS.format, ("file", "plain", "proxy"))]
    assert [redact(f"the words {each} here") for each in known] == ["the words [REDACTED] here"] * len(known)
    assert not any(each in caplog.text for each in known)


def test_a_start_that_fails_names_its_problem_without_a_secret(tmp_path: Path) -> None:
    key = WORDS.format("key")
    settings = Settings.from_mapping({"Providers": [{"Id": "x", "Type": "nothing", "Keys": [{"$env": "KEY"}]}]})
    with pytest.raises(SettingsError):
        Services.from_settings(settings, environment={**NOBODY, "KEY": key}, folder=tmp_path)
    assert redact(key) == "[REDACTED]"


def test_plain_secrets_of_a_program_are_known() -> None:
    Services(settings={"Hub": {"Users": [{"Id": "ada", "Token": WORDS.format("program")}]}})
    assert redact(WORDS.format("program")) == "[REDACTED]"


def test_a_pipe_is_left_to_whoever_uses_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for a writer
    settings = Settings.from_mapping({"Channels": {"Telegram": {"Token": {"$file": str(tmp_path / "pipe")}}}})
    assert collect_secrets(settings, {}) == frozenset()


def test_secrets_of_settings_that_are_applied_later_are_known(tmp_path: Path) -> None:
    loaded = load_with_layers(folder=tmp_path, environment={})
    live = LiveSettings([Services(settings=loaded.settings, folder=tmp_path)], loaded)
    (tmp_path / "key").write_text(WORDS.format("later"))
    providers = [{"Id": "openai", "Type": "openai", "Models": ["m"], "Keys": [{"$file": str(tmp_path / "key")}]}]

    live.apply(loaded.with_saved({"Providers": providers}))

    assert redact(WORDS.format("later")) == "[REDACTED]"
