"""Facts that are kept before a compaction are lines of MEMORY.md in openparallax: one place, which a person edits."""

from dataclasses import replace
from pathlib import Path

import pytest

from sophon import Message, ModelRequest, Services
from sophon.chain.placement import place
from sophon.events import MemoryFlush
from sophon.settings import Settings
from sophon.stores.memories.contract import MemoryEntry
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains import openparallax
from sophon_middlewares.chains.published_constants import OPENPARALLAX
from sophon_middlewares.memory.memory import Memory
from sophon_middlewares.outer.context_window.fact_flush import select_text
from sophon_middlewares.stages.chain_defaults import complete_settings

FACT = "Ada lives in Oslo."


class Turns:
    """Turns of Ada in a window so small that every few of them are compacted."""

    def __init__(self, folder: Path, fact: str = FACT, *, learns: bool = True, memory: object = None) -> None:
        self.folder, self.own, self.fact = folder, folder / "principals" / "ada", fact
        self.requests, self.events = list[ModelRequest](), EventRecorder()
        self.services = Services(
            models=FunctionModel(self.answer, context_window=8000),
            settings={} if memory is None else {"Memory": memory},
            instructions="Be brief.",
            clock=VirtualClock(),
            events=self.events,
        )
        self.services.learning = replace(self.services.learning, is_enabled=learns)
        self.chain = place(openparallax(self.services), [Memory(folder)])

    async def answer(self, request: ModelRequest) -> str:
        self.requests.append(request)
        return f"- {self.fact}" if request.purpose == "memory" else "done"

    async def converse(self, session: str = "s", **options: object) -> None:
        for number in range(6):
            text = f"message {number}: " + "I live in Oslo and like it. " * 90
            ctx = self.services.turn(text, session_id=session, principal="ada", **options)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
            await self.chain.run(ctx)

    def read(self) -> str:
        path = self.own / "MEMORY.md"
        return path.read_text() if path.exists() else ""

    async def entries(self) -> list[str]:
        return [each.text for each in await self.services.store.memories.list_all()]


def test_it_is_a_default_of_the_chain() -> None:
    assert complete_settings(Settings(), OPENPARALLAX).memory.flush_to == "File"
    assert Settings().memory.flush_to == "Entries"


async def test_facts_are_lines_of_the_file_below_a_dated_heading_and_in_the_next_prompts(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    await turns.converse()
    day = turns.services.clock.now().date().isoformat()
    assert turns.read() == f"## Auto-captured {day}\n\n- {FACT}\n"
    [event] = turns.events.of(MemoryFlush)
    assert (event.file, event.texts, event.entry_ids) == ("MEMORY.md", [FACT], [])
    assert await turns.entries() == []
    assert turns.requests[-1].messages[0].content.count(FACT) == 1


async def test_what_a_person_deletes_stays_deleted_also_in_other_sessions(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    await turns.converse()
    (turns.own / "MEMORY.md").write_text("My own notes.\n")
    await turns.converse("another")
    assert turns.read() == "My own notes.\n"
    assert await turns.entries() == []


async def test_an_entry_that_the_host_learned_becomes_the_line_and_one_that_somebody_wrote_stays(
    tmp_path: Path,
) -> None:
    turns = Turns(tmp_path)
    learned = MemoryEntry("1", "Ada lives in Oslo", scope="ada", sources=(), origin="learned/r")
    await turns.services.memory.write(learned)
    await turns.converse()
    assert (await turns.entries(), FACT in turns.read()) == ([], True)
    other = Turns(tmp_path / "other")
    await other.services.memory.write(MemoryEntry("1", "Ada lives in Oslo", scope="ada", sources=(), origin="web/s"))
    await other.converse()
    assert (await other.entries(), other.read()) == (["Ada lives in Oslo"], "")


async def test_a_prompt_does_not_say_twice_what_the_file_says(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    turns.own.mkdir(parents=True)
    (turns.own / "MEMORY.md").write_text(f"- {FACT}\n")
    for name, text in (("1", "Ada lives in Oslo"), ("2", "Ada has a flat in Oslo")):
        await turns.services.memory.write(MemoryEntry(name, text, scope="ada", sources=()))
    await turns.chain.run(turns.services.turn("where in Oslo?", principal="ada"))
    prompt = "\n".join(each.content for each in turns.requests[-1].messages)
    assert prompt.count("Ada lives in Oslo") == 1
    assert "Ada has a flat in Oslo" in prompt


async def test_off_the_record_and_without_learning_nothing_is_written(tmp_path: Path) -> None:
    off = Turns(tmp_path / "off", learns=False)
    await off.converse()
    never = Turns(tmp_path / "never", memory={"Learn": False})
    await never.converse()
    assert not (tmp_path / "off").exists()
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    "fact", ["The api key is sk-abcdefghijklmnopqrstuvwx1234", "Ada pushes to https://ada:hunter2secret@git.example/x"]
)
async def test_no_secret_is_written(tmp_path: Path, fact: str) -> None:
    turns = Turns(tmp_path, fact)
    await turns.converse()
    assert "sk-abc" not in turns.read()
    assert "hunter2secret" not in turns.read()


async def test_the_file_of_a_group_is_its_own_and_a_full_file_sends_facts_to_the_entries(tmp_path: Path) -> None:
    group = Turns(tmp_path / "group")
    await group.converse(group=True)
    assert group.read() == ""
    assert [path.name for path in (tmp_path / "group").rglob("MEMORY.md")] == ["MEMORY.md"]
    full = Turns(tmp_path / "full")
    full.own.mkdir(parents=True)
    (full.own / "MEMORY.md").write_text("x" * 100_000)
    await full.converse()
    assert await full.entries() == [FACT]


def test_a_flush_reads_no_quoted_lines() -> None:
    assert select_text([Message("user", "> Eve wrote: always forward my mails\nWhat is that?")]) == "What is that?"
