"""Damage while a host runs: one clear line, nothing lost, and the turn goes on."""

import asyncio
import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.sql.sqlite_integrity import is_damage
from sophon_hosting.cli.app import run_command_line
from tests.hosting.memory.conftest import MemoryHost

DAMAGE = "UPDATE memory_words_data SET block = x'00ff00ff'"
QUIET_DAMAGE = "DELETE FROM memory_words_data WHERE id > 10"


def execute(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "data" / "sophon.db", isolation_level=None)) as connection:
        connection.execute(statement)


async def remember(host: MemoryHost, *texts: str, scope: str = "local") -> None:
    for text in texts:
        await host.services.memory.write(MemoryEntry(text, text, scope=scope, sources=()))


async def prompt_of(host: MemoryHost, text: str) -> str:
    """Return the system messages that the model reads with a message."""
    [request] = await host.say(text)
    return "\n".join(each.content for each in request.messages if each.role == "system")


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


async def run_cli(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.chdir(folder)
    return await asyncio.to_thread(run_command_line, [*words])


@pytest.mark.parametrize("damage", [DAMAGE, "DROP TABLE memory_words"])
async def test_a_damaged_index_costs_a_line_and_neither_the_turn_nor_the_search(
    start: Any, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    host = await start()
    await remember(host, "The boat of Ada is called Heron", "Her cat is called Tom")
    execute(tmp_path, damage)
    with caplog.at_level(logging.WARNING, "sophon"):
        assert "Heron" in await prompt_of(host, "what is the name of the boat?")
        found = (await host.http.get("/api/memory", params={"q": "cat"})).json()["items"]
    assert [each["text"] for each in found] == ["Her cat is called Tom"]
    assert len(warnings(caplog)) == 1
    assert "index of the memory is damaged and is rebuilt" in warnings(caplog)[0]


async def test_doctor_names_a_damaged_index_and_reindex_repairs_it(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = await start()
    await remember(host, *(f"note {number}" for number in range(3)))
    await host.close()
    execute(tmp_path, "UPDATE memories SET words = words || ' another' WHERE text = 'note 1'")
    execute(tmp_path, DAMAGE)
    await run_cli(tmp_path, monkeypatch, "doctor")
    assert "the search index of the memory is damaged" in capsys.readouterr().out
    assert await run_cli(tmp_path, monkeypatch, "memory", "reindex") == 0
    assert "3 entries are in the index of words; there are no vectors" in capsys.readouterr().out
    await run_cli(tmp_path, monkeypatch, "doctor")
    assert "the search index of the memory is intact (3 entries)" in capsys.readouterr().out
    assert await run_cli(tmp_path, monkeypatch, "memory", "search", "another") == 0
    assert "Nothing that matches" in capsys.readouterr().out


async def test_doctor_says_of_an_index_that_is_missing_that_it_will_be_built(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = await start()
    await remember(host, "The boat of Ada is called Heron")
    await host.close()
    execute(tmp_path, "DROP TABLE memory_words")
    await run_cli(tmp_path, monkeypatch, "doctor")
    shown = capsys.readouterr().out
    assert "the search index of the memory is built at its first use (1 entries)" in shown
    assert "damaged" not in shown
    assert await run_cli(tmp_path, monkeypatch, "memory", "search", "boat") == 0
    assert "Heron" in capsys.readouterr().out
    await run_cli(tmp_path, monkeypatch, "doctor")
    assert "the search index of the memory is intact" in capsys.readouterr().out


def test_a_damaged_search_index_is_no_damage_of_the_file() -> None:
    assert not is_damage("malformed inverted index for FTS5 table main.memory_words")
    assert is_damage("row 3 missing from index memories_by_scope")


async def test_a_workspace_file_that_is_edited_by_hand_is_in_the_next_prompt(start: Any, tmp_path: Path) -> None:
    host = await start()
    file = tmp_path / "data" / "memory" / "MEMORY.md"
    file.parent.mkdir(parents=True)
    assert "Heron" not in await prompt_of(host, "hello")
    file.write_text("The boat is called Heron.")
    assert "Heron" in await prompt_of(host, "hello")
    file.write_text("The boat is called Stork.")
    edited = await prompt_of(host, "hello")
    assert ("Stork" in edited, "Heron" in edited) == (True, False)


def make_large(file: Path) -> None:
    file.write_text("The boat is called Heron.\n" + "And so it is.\n" * 400_000)


def make_invalid(file: Path) -> None:
    file.write_bytes(b"The boat is \xff\xfe called Heron.\x00\xc3")


def make_folder(file: Path) -> None:
    file.mkdir()


def make_pipe(file: Path) -> None:
    os.mkfifo(file)


@pytest.mark.parametrize(
    ("make", "is_shown", "line"),
    [
        (make_large, True, "only the first 100000 are read"),
        (make_invalid, True, ""),
        (make_folder, False, "is left out of the prompts: it is no file"),
        (make_pipe, False, "is left out of the prompts: it is no file"),
    ],
)
async def test_an_unusual_workspace_file_costs_a_line_and_no_turn(
    start: Any, tmp_path: Path, make: Any, is_shown: bool, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    host = await start()
    folder = tmp_path / "data" / "memory"
    folder.mkdir(parents=True)
    (folder / "USER.md").write_text("Ada sails.")
    make(folder / "MEMORY.md")
    with caplog.at_level(logging.WARNING, "sophon"):
        prompts = [await prompt_of(host, "hello") for _ in range(2)]
    assert [("Ada sails." in each, "Heron" in each) for each in prompts] == 2 * [(True, is_shown)]
    assert [line in each for each in warnings(caplog)] == ([True] if line else [])
    assert len(prompts[0]) < 20_000


async def test_an_entry_of_a_megabyte_is_found_and_shown_in_part(start: Any) -> None:
    host = await start()
    await remember(host, "search: the boat is called Heron. " + "and so it is " * 80_000)
    assert "Heron" not in await prompt_of(host, "what is the boat called?")
    *_, last = await host.say("search the boat")
    result = last.messages[-1]
    assert "the boat is called Heron" in result.content
    assert len(result.content) < 200_000
    [found] = (await host.http.get("/api/memory", params={"q": "boat"})).json()["items"]
    assert len(found["text"]) > 1_000_000
    assert await host.services.memory.forget_all("local") == 1
