"""Workspace files in a host: memory.search finds their lines, memory.read opens them, and a group sees none of them."""

import asyncio
import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, ToolCall
from sophon.composition.part_factories import find_memory_folder
from sophon.stores.memories import workspace_search
from sophon.tools.untrusted_text import find_fence_sources, unfence_text
from sophon_hosting.cli.app import run_command_line
from sophon_hosting.features.persons.forgetting import PersonForgetting
from sophon_hosting.features.persons.person_files import PersonFolders
from tests.hosting.memory import conftest

SECRET = "The safe opens with Xylophonist."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "memory"
    folder.mkdir(parents=True)
    # Only its beginning is in prompts.
    (folder / "MEMORY.md").write_text("\n".join(["About the weather and other things."] * 2000 + [SECRET]))
    (folder / "2026-11-22.md").write_text("We bought paint for the boat.")
    return folder


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(request: ModelRequest) -> ModelResponse:
        last = request.messages[-1]
        if last.role == "user" and last.content.startswith("search"):
            return ModelResponse("", [ToolCall("1", "memory.search", {"query": last.content})])
        if last.role == "user" and last.content.startswith("read"):
            return ModelResponse("", [ToolCall("2", "memory.read", {"id": last.content.split()[1]})])
        return ModelResponse("done")

    monkeypatch.setattr(conftest, "obey", answer)


async def result_of(host: Any, text: str, **options: Any) -> str:
    *_, last = await host.say(text, **options)
    return last.messages[-1].content


async def test_a_search_finds_lines_of_a_file_and_a_read_opens_them(start: Any, folder: Path) -> None:
    host = await start()
    [note] = json.loads(await result_of(host, "search what opens the safe"))
    assert SECRET in note["text"]
    name, _, lines = note["id"].partition(":")
    assert (name, lines.split("-")[1]) == ("MEMORY.md", "2001")
    opened = await result_of(host, "read MEMORY.md:2000-2001")
    assert opened.splitlines() == ["2000: About the weather and other things.", f"2001: {SECRET}"]
    (folder / "MEMORY.md").write_text("Nothing any more.")
    assert "Nothing that matches" in await result_of(host, "search what opens the safe")
    assert "there is no memory" in await result_of(host, "read MEMORY.md:2000-2001")


async def test_a_file_that_stands_in_no_prompt_is_untrusted(start: Any, folder: Path) -> None:
    host = await start()
    for text in ("search the paint", "read 2026-11-22.md:1-1"):
        result = await result_of(host, text)
        assert "We bought paint" in unfence_text(result)
        assert find_fence_sources(result) != []


async def test_a_group_finds_no_note_of_a_person(start: Any, folder: Path) -> None:
    host = await start()
    origin = {"kind": "group", "data_owner": "telegram:chat:-100", "chat": "-100"}
    for text in ("search what opens the safe", "read MEMORY.md:2000-2001"):
        assert "Xylophonist" not in await result_of(host, text, session="club", origin=origin)
    assert "Xylophonist" not in "".join(each.content for request in host.requests for each in request.messages)


async def test_notes_are_found_over_http_and_on_the_command_line(
    start: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = await start()
    [file] = (await host.http.get("/api/memory", params={"q": "safe"})).json()["files"]
    assert (file["file"], file["last_line"], file["trusted"]) == ("MEMORY.md", 2001, True)
    await host.close()
    monkeypatch.chdir(tmp_path)
    assert await asyncio.to_thread(run_command_line, ["memory", "search", "paint", "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert (found["file"], found["trusted"], found["text"]) == ("2026-11-22.md", False, "We bought paint for the boat.")
    assert await asyncio.to_thread(run_command_line, ["memory", "search", "safe"]) == 0
    assert "MEMORY.md:" in capsys.readouterr().out


async def test_forgetting_a_person_leaves_nothing_of_their_notes(start: Any, folder: Path, tmp_path: Path) -> None:
    host = await start()
    assert "Xylophonist" in await result_of(host, "search what opens the safe")
    folders = PersonFolders.of_settings(host.services.settings, tmp_path)
    forgetting = PersonForgetting(
        host.store, host.services.memory, host.services.clock, folders, host.host.delete_session
    )
    await forgetting.forget("local")
    assert [*folder.glob("*.md")] == []
    searched = find_memory_folder(host.services.settings, host.services.folder)
    assert searched is not None
    assert host.services.workspace(searched)._index._folders == {}
    words = (b"Xylophonist", b"xylophonist")
    found = [each for each in tmp_path.rglob("*") if each.is_file() and any(w in each.read_bytes() for w in words)]
    assert found == []


async def test_without_folders_of_owners_a_group_finds_a_persons_notes(
    start: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def same_folder(owner: str) -> PurePosixPath:
        return PurePosixPath(".")

    monkeypatch.setattr(workspace_search, "files_folder", same_folder)
    host = await start()
    origin = {"kind": "group", "data_owner": "telegram:chat:-100", "chat": "-100"}
    assert "Xylophonist" in await result_of(host, "search what opens the safe", session="club", origin=origin)
