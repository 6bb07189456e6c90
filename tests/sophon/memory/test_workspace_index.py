"""The index of a workspace folder: lines are found, only what changed is read, and nothing of a deleted file stays."""

import os
from pathlib import Path

import pytest

from sophon.memory import workspace_index
from sophon.memory.workspace_index import WorkspaceIndex, forget_workspace_indexes, read_lines


def write(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("\n".join(lines))


def found(index: WorkspaceIndex, folder: Path, query: str) -> list[str]:
    return [each.id for each in index.refresh(folder).search(query, 5)]


def test_a_search_says_file_and_lines(tmp_path: Path) -> None:
    write(tmp_path, "MEMORY.md", *(f"Line {number} has nothing to say about it." for number in range(1, 101)), "Heron")
    index = WorkspaceIndex()
    [chunk] = index.refresh(tmp_path).search("the heron", 5)
    assert (chunk.file, chunk.last_line, chunk.is_trusted) == ("MEMORY.md", 101, True)
    assert "Heron" in chunk.text
    text = read_lines(tmp_path, chunk.id, 16_000)
    assert text is not None
    assert text.splitlines()[-1] == "101: Heron"
    assert text.startswith(f"{chunk.first_line}: Line {chunk.first_line} ")


def test_only_changed_files_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "USER.md", "Ada sails")
    write(tmp_path, "MEMORY.md", "The boat is called Heron")
    index, read = WorkspaceIndex(), list[str]()
    original = workspace_index._read_text

    def note(path: Path) -> str:
        read.append(path.name)
        return original(path)

    monkeypatch.setattr(workspace_index, "_read_text", note)
    assert found(index, tmp_path, "heron") == ["MEMORY.md:1-1"]
    assert found(index, tmp_path, "heron") == ["MEMORY.md:1-1"]
    write(tmp_path, "USER.md", "Ada sails with a heron on board")
    assert sorted(found(index, tmp_path, "heron")) == ["MEMORY.md:1-1", "USER.md:1-1"]
    assert read == ["MEMORY.md", "USER.md", "USER.md"]


def test_nothing_of_a_deleted_file_stays(tmp_path: Path) -> None:
    write(tmp_path, "MEMORY.md", "Xylophonist")
    index = WorkspaceIndex()
    assert found(index, tmp_path, "xylophonist") == ["MEMORY.md:1-1"]
    (tmp_path / "MEMORY.md").unlink()
    assert found(index, tmp_path, "xylophonist") == []
    assert index._folders == {}
    write(tmp_path, "MEMORY.md", "Xylophonist")
    index.refresh(tmp_path)
    forget_workspace_indexes()
    assert index._folders == {}


def test_files_of_everybody_hidden_ones_folders_and_pipes_are_no_notes(tmp_path: Path) -> None:
    for name in ("SOUL.md", "IDENTITY.md", ".hidden.md", "notes.txt"):
        write(tmp_path, name, "heron")
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")
    assert found(WorkspaceIndex(), tmp_path, "heron") == []
    assert found(WorkspaceIndex(), tmp_path / "missing", "heron") == []


@pytest.mark.parametrize(
    "wanted", ["SOUL.md:1-1", "../MEMORY.md:1-1", "MEMORY.md", "MEMORY.md:5-9", "MEMORY.md:a-b", ""]
)
def test_what_is_no_line_of_an_indexed_file_is_not_read(tmp_path: Path, wanted: str) -> None:
    own = tmp_path / "own"
    own.mkdir()
    write(tmp_path, "MEMORY.md", "another's")
    write(own, "MEMORY.md", "mine")
    write(own, "SOUL.md", "rules")
    assert read_lines(own, "MEMORY.md:1-3", 100) == "1: mine"
    assert read_lines(own, wanted, 100) is None


def test_a_large_file_is_searched_from_its_beginning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "MEMORY.md").write_text("heron\n" + "nothing \n" * 600_000 + "stork")
    index = WorkspaceIndex()
    assert found(index, tmp_path, "heron") != []
    assert found(index, tmp_path, "stork") == []
    assert [each.getMessage().endswith("only its beginning is searched") for each in caplog.records] == [True]


def test_the_folders_used_last_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_index, "MAX_CHUNKS", 2)
    index = WorkspaceIndex()
    for name in "abc":
        (tmp_path / name).mkdir()
        write(tmp_path / name, "MEMORY.md", "heron")
        index.refresh(tmp_path / name)
    assert [each.name for each in index._folders] == ["b", "c"]


def test_of_a_large_folder_the_first_files_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(workspace_index, "MAX_FOLDER_BYTES", 12)
    for name in "abc":
        write(tmp_path, f"{name}.md", "heron")
    index = WorkspaceIndex()
    for _ in range(2):
        assert sorted(found(index, tmp_path, "heron")) == ["a.md:1-1", "b.md:1-1"]
    assert [each.getMessage().endswith("2 of 3 are searched") for each in caplog.records] == [True]
