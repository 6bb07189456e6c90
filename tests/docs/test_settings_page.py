"""docs/settings.md says what the settings are, and appsettings.json is one of them."""

import json
import re
from pathlib import Path

import pytest

from sophon.errors import SettingsError
from sophon.settings import Settings, load_settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
def test_every_example_on_the_page_can_be_used(block: str):
    Settings.from_mapping(json.loads(block)["Sophon"])


def test_the_mistakes_on_the_page_are_told_as_the_page_says(tmp_path: Path):
    (tmp_path / "appsettings.json").write_text(
        json.dumps({"Sophon": {"AgentExecution": {"MaxToolIteration": 1}, "Planning": {"Mode": "alwayz"}}})
    )
    with pytest.raises(SettingsError) as caught:
        load_settings(folder=tmp_path, environment={"SOPHON__Hub__Port": "abc"})
    told = {line.replace(f"{tmp_path}/", "") for line in caught.value.problems}
    assert told == set(re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0].splitlines())


def test_the_settings_of_a_fresh_clone_need_no_key_and_no_network():
    settings = load_settings(folder=ROOT, environment={})
    assert settings == Settings(), "appsettings.json names defaults that a person is likely to change"
