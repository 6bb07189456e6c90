"""Skills in a turn: listed in the prompt within their budget, loaded on demand, with their tools and restrictions."""

import json
import shutil
from pathlib import Path

import pytest

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.chain.placement import place
from sophon.events import SkillLoaded, SkillsOffered, ToolsOffered
from sophon.skills import SkillCatalog
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve
from sophon_middlewares.skills.skills import CHECK_SECONDS, Skills


def write_skill(folder: Path, name: str, header: str = "", body: str = "Count twice.") -> Path:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}.\n{header}\n---\n{body}")
    return folder / name


class Turns:
    """Runs turns whose model makes the given calls, and keeps the requests and the results."""

    def __init__(self, folder: Path, *, clock: VirtualClock | None = None, **settings: object) -> None:
        self.requests: list[ModelRequest] = []
        self.calls: list[ToolCall] = []
        self.ran: list[str] = []
        self.clock, self.events = clock or VirtualClock(), EventRecorder()

        @tool(risk=Risk.NONE)
        async def look(name: str) -> str:
            """Look at something."""
            self.ran.append(name)
            return f"saw {name}"

        self.services = Services(
            models=FunctionModel(self.answer),
            tools=[look],
            skills=SkillCatalog([folder]),
            settings=settings,
            instructions="Be brief.",
            clock=self.clock,
            events=self.events,
        )
        self.chain = place(twelve(self.services), [Skills()])

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        self.requests.append(request)
        asked = sum(each.role == "tool" for each in request.messages)
        return ModelResponse("", [self.calls[asked]]) if asked < len(self.calls) else "done"

    async def run(self, *calls: ToolCall, text: str = "hello") -> list[str]:
        """Run a turn that makes these calls, one per round; return their results."""
        self.requests.clear()
        self.calls = list(calls)
        ctx = self.services.turn(text)
        await self.chain.run(ctx)
        return [each.content for each in ctx.messages if each.role == "tool"]

    @property
    def prompt(self) -> str:
        return self.requests[0].messages[0].content


def load(*names: str, call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id, "load_skills", {"names": list(names)})


async def test_the_prompt_lists_names_and_descriptions_only(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf")
    turns = Turns(tmp_path)
    await turns.run()
    assert turns.prompt.startswith("Be brief.\n\n<skills>")
    assert "- pdf: About pdf." in turns.prompt
    assert "Count twice." not in turns.prompt
    assert "load_skills" in [each.name for each in turns.requests[0].tools]
    [event] = turns.events.of(SkillsOffered)
    section = turns.prompt.removeprefix("Be brief.\n\n")
    assert (event.names, event.left_out) == (["pdf"], [])
    assert event.tokens == turns.services.gateway.tokens.count_text(section)


async def test_without_a_skill_nothing_is_added(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    await turns.run()
    assert turns.prompt == "Be brief."
    assert not {"load_skills", "read_skill_file"} & {each.name for each in turns.requests[0].tools}
    assert turns.events.of(SkillsOffered) == []


async def test_instructions_come_with_those_that_are_required_and_files_on_demand(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "pdf", "requires: text")
    write_skill(tmp_path, "text", body="Read first.")
    (folder / "forms.md").write_text("Form 1")
    (tmp_path / "secret.txt").write_text("s3cret")
    turns = Turns(tmp_path)
    read = ToolCall("c2", "read_skill_file", {"skill": "pdf", "path": "forms.md"})
    other = ToolCall("c4", "read_skill_file", {"skill": "other", "path": "SKILL.md"})
    write_skill(tmp_path, "other", body="Not asked for.")
    outside = ToolCall("c3", "read_skill_file", {"skill": "pdf", "path": "../secret.txt"})
    loaded, file, escaped, refused = await turns.run(load("pdf"), read, outside, other)
    assert "not loaded" in refused
    assert loaded.index("Read first.") < loaded.index("Count twice.")
    assert "- forms.md" in loaded
    assert "Form 1" in file
    assert "s3cret" not in escaped
    assert [each.name for each in turns.events.of(SkillLoaded)] == ["text", "pdf"]


async def test_a_skill_restricts_the_tools_of_the_turn_and_not_of_the_next(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf", "allowed-tools: calculator Bash")
    turns = Turns(tmp_path)
    look = ToolCall("c2", "look", {"name": "a"})
    _, refused, group, again = await turns.run(
        load("pdf"), look, ToolCall("c3", "load_tools", {"group": "files"}), ToolCall("c4", "look", {"name": "b"})
    )
    assert "only these tools" in refused or "there is no tool" in refused
    assert "not permitted" in group
    assert turns.ran == []
    assert {each.name for each in turns.requests[1].tools} <= {
        "calculator",
        "load_skills",
        "read_skill_file",
        "load_tools",
    }
    assert again != "saw b"
    offered = [set(each.names) for each in turns.events.of(ToolsOffered)]
    assert offered == [{each.name for each in request.tools} for request in (turns.requests[0], turns.requests[1])]
    assert await turns.run(look) == ["saw a"]


async def test_the_trace_says_which_tools_were_offered_with_tokens_by_group(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    look = ToolCall("c", "look", {"name": "a"})
    await turns.run(look, ToolCall("c2", "look", {"name": "b"}))
    [event] = turns.events.of(ToolsOffered)  # once, for three model calls with the same tools
    tokens = turns.services.gateway.tokens
    assert event.names == [each.name for each in turns.requests[0].tools]
    assert event.tokens == tokens.count_tools(turns.requests[0].tools) == sum(event.by_group.values())
    assert event.by_group["memory"] == tokens.count_tools(
        [each for each in turns.requests[0].tools if each.group == "memory"]
    )


async def test_a_skill_that_names_no_tool_of_ours_restricts_nothing(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf", "allowed-tools: Bash(git:*) Read")
    turns = Turns(tmp_path)
    assert (await turns.run(load("pdf"), ToolCall("c2", "look", {"name": "a"})))[1] == "saw a"


@pytest.mark.parametrize(("name", "why"), [("gone", "does not exist"), ("idle", "is switched off")])
async def test_what_cannot_be_loaded_is_said(tmp_path: Path, name: str, why: str) -> None:
    write_skill(tmp_path, "idle")
    write_skill(tmp_path, "pdf")
    SkillCatalog([tmp_path]).set_enabled("idle", False)
    turns = Turns(tmp_path)
    [result] = await turns.run(load(name))
    assert why in result
    assert "- idle:" not in turns.prompt


async def test_a_changed_folder_holds_from_a_later_turn(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    await turns.run()
    write_skill(tmp_path, "pdf")
    await turns.run()
    assert "pdf" not in turns.prompt
    await turns.clock.advance(CHECK_SECONDS)
    await turns.run()
    assert "- pdf:" in turns.prompt
    shutil.rmtree(tmp_path / "pdf")
    await turns.clock.advance(CHECK_SECONDS)
    await turns.run()
    assert turns.prompt == "Be brief."


async def test_those_that_fit_are_chosen_by_priority_and_request(tmp_path: Path) -> None:
    for number in range(30):
        write_skill(tmp_path, f"skill-{number:02}", "priority: 5" if number == 7 else "")
    write_skill(tmp_path, "taxes")
    turns = Turns(tmp_path, Skills={"PromptTokens": 80})
    await turns.run(text="what about my taxes?")
    listed = [line for line in turns.prompt.splitlines() if line.startswith("- ")]
    assert "- skill-07: About skill-07." in listed
    assert "- taxes: About taxes." in listed
    assert 2 <= len(listed) < 12
    [event] = turns.events.of(SkillsOffered)
    assert (len(event.names), len(event.left_out)) == (len(listed), 31 - len(listed))
    assert listed == sorted(listed)
    assert turns.services.gateway.tokens.count_text(turns.prompt.removeprefix("Be brief.\n\n")) <= 80


SCRIPT = """
import json, sys
call = json.load(sys.stdin)
number = call["parameters"].get("number")
if call["tool"] == "garbage":
    print("no json")
elif number == 0:
    print(json.dumps({"success": False, "error": "zero is not allowed"}))
else:
    print(json.dumps({"success": True, "result": {"double": number * 2}}))
"""


def write_script_skill(folder: Path) -> None:
    (folder / "maths").mkdir()
    (folder / "maths" / "main.py").write_text(SCRIPT)
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    tools = [
        {"name": "double", "description": "Double.", "riskLevel": "low", "parameters": schema},
        {"name": "garbage", "description": "Garbage.", "riskLevel": "low"},
    ]
    manifest = {"name": "maths", "version": "1.0.0", "description": "Numbers.", "runtime": "python"}
    (folder / "maths" / "manifest.json").write_text(json.dumps({**manifest, "entrypoint": "main.py", "tools": tools}))


async def test_a_tool_of_a_skill_is_a_program(tmp_path: Path) -> None:
    write_script_skill(tmp_path)
    turns = Turns(
        tmp_path,
        clock=VirtualClock(auto=False),  # no time passes while a program starts, however busy the machine is
        Guards={"Sandbox": {"Enabled": False}},
        Tools={"FilesRoot": str(tmp_path / "files")},
    )
    _, *results = await turns.run(
        load("maths", call_id="c0"),
        ToolCall("c1", "maths.double", {"number": 21}),
        ToolCall("c2", "maths.double", {"number": 0}),
        ToolCall("c3", "maths.double", {"number": "many"}),
        ToolCall("c4", "maths.garbage", {}),
    )
    for result, text in zip(
        results, ('{"double":42}', "zero is not allowed", "'many' is not of type", "JSON"), strict=True
    ):
        assert text in result
