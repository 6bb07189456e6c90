"""`/preferences` in the chat of a terminal."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sophon import Services
from sophon.errors import InputError, NotFound
from sophon.principals import LOCAL_USER
from sophon_hosting.cli.chat.slash_commands import run_slash_command


def test_preferences_are_shown_set_and_taken_back() -> None:
    services = Services()
    with asyncio.Runner() as runner:
        chat = cast(Any, SimpleNamespace(services=services, run_coroutine=runner.run))
        assert "no preferences" in run_slash_command(chat, "preferences", "")[0]
        assert run_slash_command(chat, "preferences", "language de") == ["  language: de"]
        assert runner.run(services.store.preferences.get(LOCAL_USER)).language == "de"
        for wrong, error in (("colour blue", InputError), ("model nobody/nothing", NotFound)):
            with pytest.raises(error):
                run_slash_command(chat, "preferences", wrong)
        assert "no preferences" in run_slash_command(chat, "preferences", "language clear")[0]
