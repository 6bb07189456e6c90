"""The system prompt of openparallax: sections in the published order, each with heading and framing."""

import re
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelRequest, Services, ToolCall
from sophon.chain.placement import place
from sophon.models.model import ModelResponse
from sophon.preferences import Preferences
from sophon.skills import SkillCatalog
from sophon.stores.memories.contract import MemoryEntry
from sophon.testing import FunctionModel, VirtualClock
from sophon.turn.system_prompt import DEFAULT_INSTRUCTIONS, OFF_THE_RECORD_NOTICE, SENSITIVE_DATA_RULES
from sophon_middlewares.chains import openparallax, twelve
from sophon_middlewares.memory.memory import Memory
from sophon_middlewares.memory.preferences import Preferences as PreferencesMiddleware
from sophon_middlewares.skills.skills import Skills

FILES = ("IDENTITY", "SOUL", "USER", "MEMORY")


class Turns:
    """Turns of a chain with all that a host inserts into a prompt."""

    def __init__(self, folder: Path, *, instructions: str | None = DEFAULT_INSTRUCTIONS, chain: Any = openparallax):
        self.files, self.requests, self.calls = folder / "memory", list[ModelRequest](), list[ToolCall]()
        self.files.mkdir(parents=True)
        (folder / "skills" / "counting").mkdir(parents=True)
        (folder / "skills" / "counting" / "SKILL.md").write_text(
            "---\nname: counting\ndescription: How to count.\n---\nCount twice.\n" + "Then again.\n" * 100
        )
        self.services = Services(
            models=FunctionModel(self.answer),
            skills=SkillCatalog([folder / "skills"]),
            instructions=instructions,
            clock=VirtualClock(),
        )
        self.chain = place(chain(self.services), [Memory(self.files), Skills(), PreferencesMiddleware()])

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        self.requests.append(request)
        return ModelResponse(tool_calls=[self.calls.pop()]) if self.calls else "done"

    def write_all(self) -> None:
        for name in FILES:
            (self.files / f"{name}.md").write_text(f"text of {name}")

    async def say(self, text: str = "hello") -> str:
        """Run a turn; return its system prompt."""
        await self.chain.run(self.services.turn(text, session_id="s"))
        first = self.requests[-1].messages[0]
        return first.content if first.role == "system" else ""


def headings(prompt: str) -> list[str]:
    return re.findall(r"^# (.+)$", prompt, re.MULTILINE)


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    return Turns(tmp_path)


async def test_the_sections_stand_in_the_published_order_each_with_heading_and_framing(turns: Turns) -> None:
    turns.write_all()
    prompt = await turns.say()
    assert headings(prompt) == [
        *("Your Identity", "Core Guardrails", "User Profile", "Your Memory"),
        *("Behavioral Rules", "Sensitive Data Handling", "Custom Skills"),
    ]
    assert all(re.search(rf"^# {each}\n[A-Z].+:\n\S", prompt, re.MULTILINE) for each in headings(prompt))
    assert [line for line in prompt.splitlines() if line.startswith("text of")] == [f"text of {each}" for each in FILES]
    assert SENSITIVE_DATA_RULES.strip() in prompt
    assert "- counting: How to count." in prompt


async def test_the_identity_is_the_default_one_until_a_file_gives_another(turns: Turns) -> None:
    (turns.files / "SOUL.md").write_text("Be kind.")
    prompt = await turns.say()
    assert headings(prompt)[:3] == ["Your Identity", "Core Guardrails", "Behavioral Rules"]
    assert "You are Sophon" in prompt
    (turns.files / "IDENTITY.md").write_text("You are Ada.")
    prompt = await turns.say()
    assert headings(prompt)[:3] == ["Your Identity", "Core Guardrails", "Behavioral Rules"]
    assert "You are Ada." in prompt
    assert "You are Sophon" not in prompt


async def test_off_the_record_a_notice_stands_between_the_rules_and_sensitive_data(tmp_path: Path) -> None:
    turns = Turns(tmp_path, instructions=f"{DEFAULT_INSTRUCTIONS}\n{OFF_THE_RECORD_NOTICE}")
    prompt = await turns.say()
    assert headings(prompt)[1:4] == ["Behavioral Rules", "Off The Record", "Sensitive Data Handling"]
    assert prompt.count(OFF_THE_RECORD_NOTICE) == 1


async def test_preferences_are_among_the_rules(turns: Turns) -> None:
    await turns.services.store.preferences.put("", Preferences(notes="I am blind"))
    prompt = await turns.say()
    assert "I am blind" in prompt.split("# Behavioral Rules")[1].split("# Sensitive Data")[0]


async def test_the_prompt_is_the_same_in_each_turn_while_no_file_changes(turns: Turns) -> None:
    turns.write_all()
    await turns.services.memory.write(MemoryEntry("1", "Ada drinks tea", scope="", sources=()))
    prompts = [await turns.say(text) for text in ("hello", "which tea?", "and coffee?")]
    assert len({*prompts}) == 1
    (turns.files / "USER.md").write_text("other")
    assert await turns.say() not in prompts


async def test_a_loaded_skill_stays_whole_however_many_turns_its_task_takes(turns: Turns) -> None:
    turns.calls.append(ToolCall("c", "load_skills", {"names": ["counting"]}))
    for _ in range(8):
        await turns.say()
    [result] = [each.content for each in turns.requests[-1].messages if each.role == "tool"]
    assert result.count("Then again.") == 100


async def test_the_size_of_a_request_counts_what_the_sections_add(turns: Turns) -> None:
    (turns.files / "SOUL.md").write_text("Be kind.")
    await turns.say()
    request = turns.requests[-1]
    assert request.input_tokens is not None
    difference = request.input_tokens - turns.services.gateway.tokens.count_request(request)
    assert abs(difference) <= 3  # what each layer adds is rounded up


async def test_without_instructions_nothing_is_added_and_other_chains_keep_their_order(tmp_path: Path) -> None:
    assert "Sensitive" not in await Turns(tmp_path / "a", instructions=None).say()
    other = Turns(tmp_path / "b", chain=twelve)
    other.write_all()
    assert (await other.say()).startswith(DEFAULT_INSTRUCTIONS)
