"""A skill that people may call: `/name` loads its instructions before the first request to the model."""

from pathlib import Path

import pytest

from sophon.events import SkillLoaded
from sophon.skills.skill_package import read_skill_package
from tests.middlewares.skills.test_skills import Turns, write_skill

CALLABLE = "user-invocable: true\nargument-hint: '[year]'"


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    write_skill(tmp_path, "tax-forms", CALLABLE + "\nrequires: [pdf]", "Fill in $ARGUMENTS.")
    write_skill(tmp_path, "pdf", "", "Read pages.")
    return Turns(tmp_path)


async def test_its_instructions_and_those_it_requires_stand_in_the_prompt(turns: Turns) -> None:
    await turns.run(text="/tax-forms 2025 quickly")
    assert "Fill in $ARGUMENTS." in turns.prompt
    assert "Read pages." in turns.prompt
    assert [each.name for each in turns.events.events if isinstance(each, SkillLoaded)] == ["pdf", "tax-forms"]
    # What the person wrote is no instruction of the host.
    assert "quickly" not in turns.prompt
    assert turns.requests[0].messages[-1].content == "/tax-forms 2025 quickly"


@pytest.mark.parametrize("text", ["/pdf x", "/tax-formsx", "/tax", "say /tax-forms", "/etc/tax-forms", "/", "/none"])
async def test_other_messages_load_nothing(turns: Turns, text: str) -> None:
    await turns.run(text=text)
    assert "Fill in" not in turns.prompt


async def test_one_that_is_switched_off_is_not_called(turns: Turns) -> None:
    assert turns.services.assistant.skills is not None
    turns.services.assistant.skills.set_enabled("tax-forms", False)
    await turns.run(text="/tax-forms 2025")
    assert "Fill in" not in turns.prompt


async def test_one_that_cannot_be_loaded_is_said_to_the_model(turns: Turns) -> None:
    assert turns.services.assistant.skills is not None
    turns.services.assistant.skills.set_enabled("pdf", False)
    await turns.run(text="/tax-forms 2025")
    assert "cannot be loaded" in turns.prompt


async def test_its_allowed_tools_hold_from_the_first_request_on(tmp_path: Path) -> None:
    write_skill(tmp_path, "narrow", "user-invocable: true\nallowed-tools: calculator")
    turns = Turns(tmp_path)
    await turns.run(text="/narrow")
    assert "look" not in {each.name for each in turns.requests[0].tools}


def test_the_keys_are_checked(tmp_path: Path) -> None:
    write_skill(tmp_path, "good", CALLABLE)
    good, problems = read_skill_package(tmp_path / "good")
    assert good is not None
    assert (good.is_callable, good.argument_hint, problems) == (True, "[year]", [])
    write_skill(tmp_path, "bad", "user-invocable: perhaps")
    assert "true or false" in str(read_skill_package(tmp_path / "bad")[1][0])
