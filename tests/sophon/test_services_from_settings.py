import json
from pathlib import Path

import pytest

from sophon import Services, tool
from sophon.errors import SettingsError
from sophon.settings import Settings
from sophon.stores.in_memory_store import InMemoryStore
from sophon.testing import VirtualClock
from sophon.tools.untrusted_text import FENCING_INSTRUCTIONS
from sophon.turn.system_prompt import DEFAULT_INSTRUCTIONS
from sophon_middlewares.chains import twelve

NOBODY = {"OLLAMA_HOST": "127.0.0.1:9"}


def write_settings(folder: Path, **sections: object) -> None:
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": sections}))


async def test_a_turn_runs_on_what_the_folder_says(folder: Path) -> None:
    write_settings(folder, Store={"Url": "memory://"})
    async with Services.from_settings(environment=NOBODY, folder=folder, clock=VirtualClock()) as services:
        response = await twelve(services).run(services.turn("What is 17 * 23?", session_id="demo"))
        history = await services.history("demo")
    assert "391" in response.text
    assert history[0].content == "What is 17 * 23?"


async def test_the_store_of_the_settings_remembers_across_services(folder: Path) -> None:
    write_settings(folder, Store={"Url": "sqlite:///data/mine.db"})
    for _ in range(2):
        async with Services.from_settings(environment=NOBODY, folder=folder) as services:
            await twelve(services).run(services.turn("What is 17 * 23?", session_id="demo"))
            said = [message.content for message in await services.history("demo") if message.role == "user"]
    assert said == ["What is 17 * 23?"] * 2
    assert (folder / "data" / "mine.db").is_file()


def test_the_environment_decides_on_the_provider(folder: Path) -> None:
    services = Services.from_settings(Settings.from_mapping({}), environment={"OPENAI_API_KEY": "sk-x"}, folder=folder)
    (candidate,) = services.gateway.candidates()
    assert candidate.info.id == "openai/gpt-5-mini"


def test_a_turn_has_a_system_prompt_that_tells_what_fences_are(folder: Path) -> None:
    services = Services.from_settings(Settings.from_mapping({}), environment=NOBODY, folder=folder)
    system = services.turn("Hello").messages[0]
    assert (system.role, system.content) == ("system", DEFAULT_INSTRUCTIONS)
    assert FENCING_INSTRUCTIONS in DEFAULT_INSTRUCTIONS


def test_tools_given_stand_before_those_of_modules_and_these_before_the_built_in(folder: Path) -> None:
    (folder / "house_tools.py").write_text(
        "from sophon import tool\n@tool\ndef lamp() -> str:\n    'Light.'\n    return ''\n"
    )

    @tool
    def door() -> str:
        """Open."""
        return ""

    settings = Settings.from_mapping({"Tools": {"Modules": ["house_tools"]}})
    services = Services.from_settings(settings, environment=NOBODY, folder=folder, tools=[door])
    names = [each.name for each in services.registry]
    assert names[:2] == ["door", "lamp"]
    assert "datetime.now" in names


def test_a_store_that_is_given_is_used(folder: Path) -> None:
    store = InMemoryStore()
    settings = Settings.from_mapping({"Store": {"Url": {"$env": "DATABASE"}}})
    assert Services.from_settings(settings, environment=NOBODY, folder=folder, store=store).store is store


def test_all_that_is_wrong_is_told_at_once(folder: Path) -> None:
    settings = Settings.from_mapping(
        {
            "Providers": [{"Id": "x", "Type": "openai", "Keys": [{"$env": "OPENAI_API_KEY"}]}],
            "Tools": {"Modules": ["no_such_tools"]},
            "Store": {"Url": {"$env": "DATABASE"}},
        }
    )
    with pytest.raises(SettingsError) as caught:
        Services.from_settings(settings, environment={}, folder=folder)
    provider, module, store = caught.value.problems
    assert provider == "Providers[0].Keys: the environment variable OPENAI_API_KEY is not set"
    assert module.startswith("Tools.Modules[0]: there is no module 'no_such_tools'")
    assert store == "Store.Url: the environment variable DATABASE is missing or empty"
