"""Writes to workspace files: facts are added once, what a person deletes stays deleted, and no edit is lost."""

import os
from datetime import date
from pathlib import Path

import pytest

from sophon.errors import ChangedMeanwhile, InputError
from sophon.memory.workspace_files import MAX_FILE_BYTES, WorkspaceReader
from sophon.memory.workspace_index import WorkspaceIndex
from sophon.stores.memories.workspace_writes import add_facts, find_said, read_version, save_version

TODAY, TOMORROW = date(2026, 3, 1), date(2026, 3, 2)


def test_facts_stand_below_a_heading_of_their_day_and_once(tmp_path: Path) -> None:
    assert add_facts(tmp_path, ["Ada lives in Oslo.", "ada lives in oslo"], TODAY) == ["Ada lives in Oslo."]
    assert add_facts(tmp_path, ["Ada  drinks\ntea."], TODAY) == ["Ada drinks tea."]
    assert add_facts(tmp_path, ["Ada lives in Oslo."], TOMORROW) == []
    assert add_facts(tmp_path, ["Ada runs."], TOMORROW) == ["Ada runs."]
    assert (tmp_path / "MEMORY.md").read_text() == (
        "## Auto-captured 2026-03-01\n\n- Ada lives in Oslo.\n- Ada drinks tea.\n"
        "\n## Auto-captured 2026-03-02\n\n- Ada runs.\n"
    )
    assert (tmp_path / "MEMORY.md").stat().st_mode & 0o077 == 0


def test_what_a_person_wrote_stays_and_is_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text("My notes\n\n* Ada lives in Oslo\n\n## Mine")
    assert add_facts(tmp_path, ["Ada lives in Oslo.", "Ada runs."], TODAY) == ["Ada runs."]
    assert path.read_text() == (
        "My notes\n\n* Ada lives in Oslo\n\n## Mine\n\n## Auto-captured 2026-03-01\n\n- Ada runs.\n"
    )


@pytest.mark.parametrize("text", ["", "Ada lives in Bergen."])
def test_what_a_person_deletes_or_corrects_is_not_added_again(tmp_path: Path, text: str) -> None:
    add_facts(tmp_path, ["Ada lives in Oslo."], TODAY)
    (tmp_path / "MEMORY.md").write_text(text)
    assert add_facts(tmp_path, ["Ada lives in Oslo."], TOMORROW) == []
    assert (tmp_path / "MEMORY.md").read_text() == text
    (tmp_path / "MEMORY.md").unlink()
    assert add_facts(tmp_path, ["Ada lives in Oslo."], TOMORROW) == []


def test_a_file_that_is_full_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("x" * MAX_FILE_BYTES)
    assert add_facts(tmp_path, ["Ada runs."], TODAY) is None
    assert (tmp_path / "MEMORY.md").stat().st_size == MAX_FILE_BYTES


def test_an_edit_replaces_the_version_that_was_read_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "ada" / "USER.md"
    read = read_version(path)
    assert read.version == ""
    saved = save_version(path, "one\r\n", read.version)
    assert (saved.text, path.read_text()) == ("one\n", "one\n")
    with pytest.raises(ChangedMeanwhile):
        save_version(path, "two", read.version)
    save_version(path, "two", saved.version)
    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o077 == 0
    assert [each.name for each in path.parent.iterdir()] == ["USER.md"]


def test_an_edit_of_a_file_to_which_a_fact_was_added_is_refused(tmp_path: Path) -> None:
    read = save_version(tmp_path / "MEMORY.md", "mine\n", "")
    add_facts(tmp_path, ["Ada runs."], TODAY)
    with pytest.raises(ChangedMeanwhile):
        save_version(tmp_path / "MEMORY.md", "", read.version)
    assert "Ada runs." in (tmp_path / "MEMORY.md").read_text()


def test_a_text_that_is_too_large_and_a_file_that_is_no_text_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="would have 100001 bytes"):
        save_version(tmp_path / "USER.md", "x" * 100_001, "")
    (tmp_path / "USER.md").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        read_version(tmp_path / "USER.md")


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("one")
    (tmp_path / "USER.md").symlink_to(tmp_path / "elsewhere.md")
    save_version(tmp_path / "USER.md", "two", read_version(tmp_path / "USER.md").version)
    assert (tmp_path / "USER.md").is_symlink()
    assert (tmp_path / "elsewhere.md").read_text() == "two"


def test_lines_are_compared_without_bullets_case_and_punctuation() -> None:
    assert "ada lives in oslo" in find_said("## Facts\n- Ada lives in Oslo.\n")


def test_a_fact_hides_nothing_behind_it(tmp_path: Path) -> None:
    assert add_facts(tmp_path, ["Ada says <!-- always", "Ada says --> never"], TODAY) == [
        *("Ada says <! -- always", "Ada says -- > never"),
    ]
    assert "always" in WorkspaceReader(tmp_path).read(tmp_path)["MEMORY.md"]


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_the_folder_of_a_principal_has_no_way_to_other_files(tmp_path: Path, kind: str) -> None:
    secret, own = tmp_path / "secret.md", tmp_path / "principals" / "ada"
    own.mkdir(parents=True)
    secret.write_text("the key")
    file = own / "MEMORY.md"
    if kind == "link":
        file.symlink_to(secret)
        (own / "notes.md").symlink_to(secret)
    else:
        os.mkfifo(file)
    for attempt in (
        lambda: read_version(file),
        lambda: save_version(file, "evil", ""),
        lambda: add_facts(own, ["Ada runs."], TODAY),
    ):
        with pytest.raises(OSError, match=r"symbolic links|no file"):
            attempt()
    assert WorkspaceReader(tmp_path).read(own) == {}
    assert WorkspaceIndex().refresh(own).chunks == ()
    assert secret.read_text() == "the key"


def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_bytes(b"x" * 1_000_001)
    with pytest.raises(InputError, match="1000000 bytes"):
        read_version(tmp_path / "MEMORY.md")


def test_what_a_killed_writer_leaves_is_taken_away_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "USER.md"
    (tmp_path / ".USER.md.new").write_text("half of a pri")
    save_version(path, "one", "")
    assert [each.name for each in tmp_path.iterdir()] == ["USER.md"]
