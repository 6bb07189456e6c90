"""`sophon snapshots`: from a call that overwrites a file to the file that is back."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelResponse, Services, ToolCall
from sophon.approvals import ApprovalRequest, Decision
from sophon.security.audit.audit_chain import GENESIS
from sophon.snapshots.archive import ARCHIVE_FOLDER
from sophon.testing import ScriptedModel
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from sophon_middlewares.chains.additions import find_guards
from tests.databases import SQLITE, copy_database

Command = Callable[..., Any]


def said(outcome: Any) -> str:
    """What a command has written, notices and errors too."""
    return f"{outcome.out}{outcome.err}"


class Approving:
    async def request(self, request: ApprovalRequest) -> Decision:
        return Decision.approve()


async def write_files(folder: Path, *writes: tuple[str, str], user: str = "local") -> None:
    """Let a model write files, one round each, with the guards of a host."""
    script = [
        ModelResponse("", [ToolCall(f"c{number}", "files.write", {"path": path, "content": text})])
        for number, (path, text) in enumerate(writes)
    ]
    store = SqlHostStore(SQLITE, folder=folder)
    async with Services(
        models=ScriptedModel([*script, "done"]),
        store=store,
        folder=folder,
        approvals=Approving(),
        settings={"Planning": {"Mode": "Never"}},
    ) as services:
        await twelve(services, find_guards(services.settings.guards)).run(services.turn("write", principal=user))


@pytest.fixture
def files(folder: Path) -> Path:
    """The files folder after a call has replaced `notes.txt`, and another has created `new.txt`."""
    copy_database(folder)
    files = folder / "data" / "files"
    files.mkdir(parents=True)
    (files / "notes.txt").write_text("milk\nbread\n")
    asyncio.run(write_files(folder, ("notes.txt", "milk\neggs\n"), ("new.txt", "hello")))
    return files


def test_snapshots_are_listed_the_newest_first(files: Path, sophon: Command) -> None:
    shown = sophon("snapshots", "list")
    assert shown.code == 0, said(shown)
    lines = [line for line in shown.out.splitlines() if "files.write" in line]
    assert ["new.txt (new)" in lines[0], "notes.txt" in lines[1]] == [True, True]
    [newest, oldest] = json.loads(sophon("snapshots", "list", "--json").out)
    assert (newest["number"], oldest["files"][0]["path"], oldest["files"][0]["size"]) == (2, "notes.txt", 11)
    assert [each["number"] for each in json.loads(sophon("snapshots", "list", "--before", "2", "--json").out)] == [1]


def test_what_belongs_to_others_is_not_listed_without_naming_them(files: Path, sophon: Command) -> None:
    asyncio.run(write_files(files.parent.parent, ("secret-plan.txt", "x"), user="ann"))
    shown = sophon("snapshots", "list")
    assert "secret-plan" not in said(shown)
    assert "other users with snapshots (--user): ann" in said(shown)
    assert "secret-plan" in said(sophon("snapshots", "list", "--user", "ann"))
    assert sophon("snapshots", "restore", "1", "--user", "ann").code == 0
    assert (files / "notes.txt").read_text() == "milk\neggs\n"


def test_a_diff_shows_texts_line_by_line_and_other_files_as_digests(files: Path, sophon: Command) -> None:
    shown = sophon("snapshots", "diff", "1")
    assert [line for line in shown.out.splitlines() if line[:1] in "+-"] == [
        "--- notes.txt",
        "+++ notes.txt",
        "-bread",
        "+eggs",
    ]
    assert "+hello" in said(sophon("snapshots", "diff", "2"))
    (files / "notes.txt").write_bytes(b"\0\1")
    shown = sophon("snapshots", "diff", "1")
    assert "+++ notes.txt: 2 bytes, SHA-256 " in said(shown)
    (files / "notes.txt").write_text("milk\nbread\n")
    assert "Nothing has changed." in said(sophon("snapshots", "diff", "1"))


def test_a_file_is_restored_and_what_was_there_becomes_a_snapshot(files: Path, sophon: Command) -> None:
    shown = sophon("snapshots", "restore", "1")
    assert shown.code == 0, said(shown)
    assert "notes.txt: restored" in said(shown)
    assert "snapshot 3" in said(shown)
    assert (files / "notes.txt").read_text() == "milk\nbread\n"
    assert sophon("snapshots", "restore", "3").code == 0
    assert (files / "notes.txt").read_text() == "milk\neggs\n"
    assert "The chain and the copies are intact: 4 snapshots." in said(sophon("snapshots", "verify"))


def test_a_file_that_a_call_has_created_is_removed_and_can_come_back(files: Path, sophon: Command) -> None:
    assert "new.txt: removed" in said(sophon("snapshots", "restore", "2"))
    assert not (files / "new.txt").exists()
    sophon("snapshots", "restore", "3")
    assert (files / "new.txt").read_text() == "hello"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["restore", "9"], "there is no snapshot '9'"),
        (["restore", "1", "other.txt"], "the snapshot has no file 'other.txt'"),
        (["diff", "9"], "there is no snapshot '9'"),
        (["restore", "1", "--user", "eve"], "there is no snapshot '1'"),
    ],
)
def test_what_does_not_exist_is_one_clear_line(
    files: Path, sophon: Command, arguments: list[str], problem: str
) -> None:
    shown = sophon("snapshots", *arguments)
    assert shown.code != 0
    assert problem in said(shown)
    assert "Traceback" not in said(shown)


def test_a_changed_copy_is_found_and_never_restored(files: Path, sophon: Command) -> None:
    [copy] = [each for each in (files.parent.parent / ARCHIVE_FOLDER).iterdir() if each.read_text() == "milk\nbread\n"]
    copy.write_text("poison!\n")
    verified = sophon("snapshots", "verify")
    assert (verified.code, "snapshot 1: the copy of notes.txt is missing or was changed" in said(verified)) == (
        1,
        True,
    )
    shown = sophon("snapshots", "restore", "1")
    assert shown.code != 0
    assert "nothing was restored" in said(shown)
    assert (files / "notes.txt").read_text() == "milk\neggs\n"
    assert GENESIS not in said(shown)


def test_no_link_is_followed(files: Path, sophon: Command, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (files / "notes.txt").unlink()
    (files / "notes.txt").symlink_to(victim)
    shown = sophon("snapshots", "restore", "1")
    assert shown.code != 0
    assert "cannot be restored" in said(shown)
    assert victim.read_text() == "mine"


def test_a_file_that_is_too_large_to_be_kept_is_replaced_only_by_force(files: Path, sophon: Command) -> None:
    small = ("--set", "Guards.Snapshot.MaxFileBytes=12")
    (files / "notes.txt").write_text("much more than that")
    refused = sophon(*small, "snapshots", "restore", "1")
    assert refused.code != 0
    assert "--force restores nevertheless" in said(refused)
    assert (files / "notes.txt").read_text() == "much more than that"
    assert sophon(*small, "snapshots", "restore", "1", "--force").code == 0
    assert (files / "notes.txt").read_text() == "milk\nbread\n"
