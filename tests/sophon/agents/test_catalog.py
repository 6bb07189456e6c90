"""The catalogue of agents: read anew when a file changes, and no further than to what is wrong."""

import os
from pathlib import Path
from threading import Thread

from sophon.agents import AgentCatalog, catalog
from sophon.agents.definition import read_agent


def write(folder: Path, name: str, description: str = "Works.", prompt: str = "Work.") -> Path:
    path = folder / f"{name}.md"
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{prompt}\n")
    return path


def test_a_missing_folder_has_no_agents(tmp_path: Path) -> None:
    assert AgentCatalog(tmp_path / "none").read().agents == {}


def test_the_worker_needs_no_file_and_a_file_of_its_name_replaces_it(tmp_path: Path) -> None:
    assert list(AgentCatalog(None, has_worker=True).read().agents) == ["worker"]
    write(tmp_path, "alpha")
    write(tmp_path, "zeta")
    agents = AgentCatalog(tmp_path, has_worker=True)
    assert list(agents.read().agents) == ["alpha", "worker", "zeta"]
    write(tmp_path, "worker", prompt="Mine.")
    assert agents.read().agents["worker"].prompt == "Mine."


def test_a_broken_file_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    write(tmp_path, "writer")
    (tmp_path / "broken.md").write_text("---\nname: broken\nbroken: [\n---\nx")
    (tmp_path / "notes.txt").write_text("no agent")
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe\x00")
    found = AgentCatalog(tmp_path).read()
    assert list(found.agents) == ["writer"]
    assert sorted(each.path.name for each in found.problems) == ["binary.md", "broken.md"]
    assert [each.line for each in found.problems if each.path.name == "broken.md"] == [4]


def test_a_changed_a_new_and_a_deleted_file_are_seen_at_the_next_reading(tmp_path: Path) -> None:
    path, agents = write(tmp_path, "writer"), AgentCatalog(tmp_path)
    assert agents.read().agents["writer"].prompt == "Work."
    write(tmp_path, "writer", prompt="Work better.")
    os.utime(path, ns=(1, 1))
    write(tmp_path, "reader")
    assert agents.read().agents["writer"].prompt == "Work better."
    assert list(agents.current.agents) == ["reader", "writer"]
    path.unlink()
    assert list(agents.read().agents) == ["reader"]


def test_nothing_is_read_again_while_nothing_changes(tmp_path: Path, monkeypatch: object) -> None:
    write(tmp_path, "writer")
    write(tmp_path, "reader")
    agents, read = AgentCatalog(tmp_path), list[Path]()

    def note(path: Path) -> object:
        read.append(path)
        return read_agent(path)

    before, catalog.read_agent = catalog.read_agent, note  # type: ignore[assignment]
    try:
        agents.read()
        agents.read()
        assert len(read) == 2
        os.utime(write(tmp_path, "reader", prompt="Read."), ns=(2, 2))
        agents.read()
        assert [each.name for each in read[2:]] == ["reader.md"]
    finally:
        catalog.read_agent = before


def test_a_pipe_in_place_of_an_agent_is_named_and_does_not_block(tmp_path: Path) -> None:
    write(tmp_path, "good")
    os.mkfifo(tmp_path / "pipe.md")
    reader = Thread(target=(catalog := AgentCatalog(tmp_path)).read, daemon=True)
    reader.start()
    reader.join(timeout=20)
    assert not reader.is_alive()
    assert set(catalog.current.agents) == {"good"}
    assert [each.message for each in catalog.current.problems] == ["it is no regular file"]
