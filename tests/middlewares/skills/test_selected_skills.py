"""Selected skills: which instructions stand before a message, that they fit, and which tools they leave the turn."""

import json
import random
from pathlib import Path

import pytest

from sophon import Decision, ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.errors import MessageTooLarge, ProviderUnavailable
from sophon.events import SkillLoaded, StageCompleted
from sophon.messages import Message
from sophon.models.model import ModelInfo
from sophon.skills import SkillCatalog
from sophon.skills.instruction_selection import InstructionSelector
from sophon.skills.skill_package import SkillPackage
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_hosting.host_chain import build_named_chain
from tests.gate import Gate
from tests.middlewares.skills.test_skills import write_skill
from tests.tables import table

RESERVE = 8192


@tool(risk=Risk.HIGH)
async def pay(to: str) -> str:
    """Pay."""
    return "paid"


class Asked:
    """Host of the chain clawdesk whose models keep their requests; the first model fails if `fails`."""

    def __init__(self, folder: Path, *windows: int, fails: bool = False, calls: int = 0, **services: object) -> None:
        self.requests: list[ModelRequest] = []
        self.fails, self.calls = fails, calls
        models = [
            FunctionModel(self.answer, name=f"m{number}", context_window=window, function_calling=number < 9)
            for number, window in enumerate(windows or (128_000,))
        ]
        options: dict[str, object] = {"instructions": "Be brief.", "clock": VirtualClock(), "tools": [pay]}
        self.services = Services(models=models, skills=SkillCatalog([folder]), **{**options, **services})  # type: ignore[arg-type]
        self.chain = build_named_chain(self.services, "clawdesk")

    async def answer(self, request: ModelRequest) -> ModelResponse:
        self.requests.append(request)
        if self.fails and request.model.name == "m0":
            raise ProviderUnavailable("down", provider="p", model="m0")
        if len(self.requests) <= self.calls:
            return ModelResponse("", [ToolCall(f"c{len(self.requests)}", "pay", {"to": "bob"})])
        return ModelResponse("done")

    async def ask(self, text: str) -> list[str]:
        """Run a turn, and return the names of the skills whose instructions its first request had."""
        self.requests.clear()
        await self.chain.run(self.services.turn(text, session_id="s", principal="ada"))
        return selected(self.requests[-1])


def selected(request: ModelRequest) -> list[str]:
    found = [each.content for each in request.messages if each.content.startswith("<selected_skills>")]
    assert len(found) <= 1
    return [part.partition('"')[0] for part in found[0].split('<skill name="')[1:]] if found else []


def package(name: str, description: str, **more: object) -> SkillPackage:
    return SkillPackage(name, description, Path(), "Do it.", **more)  # type: ignore[arg-type]


@table(
    ("message", "worth"),
    [
        ("please fill in my tax form", {"tax-forms": 5}),
        ("when are returns due?", {"tax-forms": 1}),
        ("what can you help me with, please?", {}),
        ("cook the dinner", {"cooking": 2}),
        ("is there a recipe?", {}),
        ("a recipe for dinner", {"cooking": 4}),
    ],
)
def test_a_message_is_about_the_skills_with_whose_names_and_descriptions_it_shares_words(
    message: str, worth: dict[str, float]
) -> None:
    skills = [
        package("tax-forms", "Help to fill in forms. Use it when somebody asks about returns."),
        package("cooking", "A recipe to cook a dinner.", priority=2, allowed_tools=("calculator",)),
    ]
    found = InstructionSelector({each.name: each for each in skills}).find_relevant(message)
    if message == "cook the dinner":
        worth = {"cooking": 4}
    assert found == worth


async def test_the_instructions_a_message_needs_stand_before_it_with_what_they_require(tmp_path: Path) -> None:
    write_skill(tmp_path, "tax-forms", "requires: [pdf]", "Fill it in.")
    write_skill(tmp_path, "pdf", "", "Read it.")
    write_skill(tmp_path, "cooking", "", "Cook it.")
    events = EventRecorder()
    host = Asked(tmp_path, events=events)
    assert await host.ask("hello") == []
    assert await host.ask("my tax form, please") == ["pdf", "tax-forms"]

    system, *history, section, message = host.requests[-1].messages
    assert [each.content for each in (*history, message)] == ["hello", "done", "my tax form, please"]
    assert "Read it." in section.content
    assert "Fill it in." in section.content
    assert "- cooking: About cooking." in system.content, "the others can be loaded"
    assert [each.name for each in events.of(SkillLoaded)] == ["pdf", "tax-forms"]
    assert "Cook it." not in section.content


async def test_what_does_not_fit_is_left_to_load_skills_and_the_most_worth_is_chosen(tmp_path: Path) -> None:
    for name, priority, words in (("tax-a", 1, 1500), ("tax-b", 3, 1500), ("tax-c", 1, 200)):
        write_skill(tmp_path, name, f"priority: {priority}", "word " * words)
    assert await Asked(tmp_path).ask("my tax") == ["tax-a", "tax-b", "tax-c"]
    host = Asked(tmp_path, 11_500)
    assert await host.ask("my tax") == ["tax-b", "tax-c"]
    assert "- tax-a: About tax-a." in host.requests[0].messages[0].content
    assert await Asked(tmp_path, 6_000).ask("my tax") == []


async def test_the_selection_is_part_of_the_stage_that_guards_the_context(tmp_path: Path) -> None:
    write_skill(tmp_path, "tax-forms")
    events = EventRecorder()
    assert await Asked(tmp_path, events=events).ask("my tax form") == ["tax-forms"]
    both = [each for each in events.events if isinstance(each, StageCompleted | SkillLoaded)]
    order = [each.stage if isinstance(each, StageCompleted) else "load" for each in both]
    assert order[:5] == ["auth_resolve", "history_sanitize", "load", "context_guard", "tool_split"]
    assert order[5:] == ["execute", "failover_decide"]


async def test_the_tools_of_the_turn_are_those_of_the_selected_skills(tmp_path: Path) -> None:
    write_skill(tmp_path, "tax-forms", "allowed-tools: calculator files.read")
    host = Asked(tmp_path)
    await host.ask("hello")
    assert "files.write" in {each.name for each in host.requests[0].tools}
    await host.ask("my tax form")
    offered = {each.name for each in host.requests[0].tools}
    assert offered == {"calculator", "files.read", "load_tools", "load_skills", "read_skill_file"}


async def test_what_is_selected_stays_in_all_requests_of_a_turn_so_that_caches_stay_valid(tmp_path: Path) -> None:
    write_skill(tmp_path, "tax-forms", "", "Fill it in.")
    host = Asked(tmp_path, calls=2, approvals=Gate(Decision.approve()))
    assert await host.ask("my tax form") == ["tax-forms"]
    first, second, third = host.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages


async def remember(host: Asked, number: int, text: str) -> None:
    await host.services.memory.write(MemoryEntry(f"e{number}", text, scope="ada", sources=()))


async def test_a_resumed_turn_has_the_instructions_that_it_had(tmp_path: Path) -> None:
    write_skill(tmp_path, "tax-forms", "allowed-tools: pay", "Fill it in.")
    gate = Gate(Decision.suspend())
    host = Asked(tmp_path, calls=1, approvals=gate)
    ctx = host.services.turn("my tax form", session_id="s")
    await host.chain.run(ctx)
    state = json.loads(json.dumps(ctx.state()))
    write_skill(tmp_path, "tax-advice", "", "Advise.")  # which the message would be about, too
    await host.services.clock.sleep(5)
    gate.decision = Decision.approve()
    await host.chain.run(host.services.restore(state))
    assert [selected(each) for each in host.requests] == [["tax-forms"], ["tax-forms"]]
    assert "calculator" not in {each.name for each in host.requests[1].tools}


async def test_a_fallback_with_a_smaller_window_gets_what_fits_there(tmp_path: Path) -> None:
    write_skill(tmp_path, "tax-long", "", "word " * 3000)
    write_skill(tmp_path, "tax-short", "", "word " * 20)
    host = Asked(tmp_path, 128_000, 11_000, fails=True)
    assert await host.ask("my tax") == ["tax-short"]
    assert selected(host.requests[0]) == ["tax-long", "tax-short"]


async def test_memory_gets_what_the_rest_leaves(tmp_path: Path) -> None:
    write_skill(tmp_path, "tax-forms", "", "word " * 900)
    recalled: list[int] = []
    for window in (128_000, 8_800, 8_500):
        host = Asked(tmp_path, window)
        for number in range(4):
            await remember(host, number, f"my tax number {number} is 17. " + "x " * 150)
        await host.ask("my tax form")
        recalled.append(sum(each.content.count("is 17.") for each in host.requests[-1].messages))
    assert recalled == [4, 1, 0]


@pytest.mark.parametrize("seed", range(40))
async def test_the_law_of_the_window_holds_for_random_sizes(tmp_path: Path, seed: int) -> None:
    """System + history + skills + memory + message <= window - reserve, unless the message alone exceeds it."""
    rng = random.Random(seed)
    window = rng.choice((6_000, 9_000, 12_000, 16_000, 24_000, 40_000, 128_000))
    for number in range(rng.randrange(12)):
        requires = f"requires: [tax-{rng.randrange(number)}]" if number and rng.random() < 0.3 else ""
        write_skill(tmp_path, f"tax-{number}", requires, "word " * rng.randrange(1, 4000))
    host = Asked(tmp_path, window, calls=rng.randrange(3), approvals=Gate(Decision.approve()))
    store = host.services.store
    for number in range(rng.randrange(60)):
        role = "user" if number % 2 == 0 else "assistant"
        message = Message(role, "w " * rng.randrange(1, 400))  # type: ignore[arg-type]
        await store.sessions.append("s", [SessionRecord("message", f"r{number // 2}", message)], owner="ada")
    for number in range(rng.randrange(12)):
        await remember(host, number, f"tax {number} " + "x " * rng.randrange(600))
    try:
        await host.ask("my tax " + "m " * rng.randrange(3000))
    except MessageTooLarge:
        return
    tokens, info = host.services.gateway.tokens, ModelInfo("m0", "p", context_window=window)
    limit = window - min(RESERVE, window // 2)
    for request in (each for each in host.requests if each.purpose == "reply"):
        used = tokens.calibrate(tokens.count_request(request), info.id)
        question = next(each for each in request.messages if each.content.startswith("my tax "))
        at = request.messages.index(question)  # calls of the turn follow it
        prompt = [each for each in request.messages[:1] if each.role == "system" and not each.content.startswith("<")]
        least = [*prompt, *request.messages[at:]]
        alone = tokens.calibrate(tokens.count_request(request.copy_with(messages=least)), info.id)
        assert used <= limit or alone > limit, (used, limit, alone)
