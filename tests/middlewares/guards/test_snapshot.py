"""Snapshot: what a call changes is copied first, and a call whose files cannot be copied does not run."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from sophon import Decision, Risk, ToolCall, tool
from sophon.errors import StoreError
from sophon.snapshots.archive import SnapshotArchive
from sophon.stores import InMemoryStore
from sophon.stores.snapshots.stored_snapshot import StoredSnapshot
from sophon_middlewares.guards.snapshot import Snapshot
from tests.middlewares.guards.conftest import GuardedTurn, shell_call, write_call


@pytest.fixture
def kept(turn: GuardedTurn) -> GuardedTurn:
    turn.store = InMemoryStore()
    return turn


def files(turn: GuardedTurn) -> Path:
    return turn.folder / "data" / "files"


async def snapshots(turn: GuardedTurn) -> list[StoredSnapshot]:
    assert turn.store is not None
    return list(reversed(await turn.store.snapshots.list("local")))


async def copied(turn: GuardedTurn) -> dict[str, bytes | None]:
    """What the copies of the newest snapshot hold, by path; None for a file that did not exist."""
    archive, newest = SnapshotArchive(turn.folder), (await snapshots(turn))[-1]
    found: dict[str, bytes | None] = {}
    for file in newest.event.files:
        content = archive.read(file) if file.existed else None
        assert not file.existed or content is not None
        found[file.path] = content.data if content else None
    return found


async def test_a_file_is_copied_before_it_is_written(kept: GuardedTurn) -> None:
    (files(kept) / "notes.txt").chmod(0o640)
    [result] = await kept.run([Snapshot()], [write_call("notes.txt", "eggs")])
    assert result.startswith("Wrote")
    assert (files(kept) / "notes.txt").read_text() == "eggs"
    assert await copied(kept) == {"notes.txt": b"milk"}
    [snapshot] = await snapshots(kept)
    assert (snapshot.event.tool, snapshot.event.call_id, snapshot.event.owner) == ("files.write", "c1", "local")
    assert snapshot.event.files[0].mode == 0o640


async def test_a_file_that_does_not_exist_yet_is_noted(kept: GuardedTurn) -> None:
    await kept.run([Snapshot()], [write_call("new/file.txt")])
    assert await copied(kept) == {"new/file.txt": None}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo x > notes.txt", {"notes.txt": b"milk"}),
        ("rm notes.txt", {"notes.txt": b"milk"}),
        ("rm notes.*", {"notes.*": None, "notes.txt": b"milk"}),
        ("rm -rf s?b", {"s?b": None, "sub/a": b"A", "sub/deep/b": b"B"}),
        ("rm -rf sub", {"sub/a": b"A", "sub/deep/b": b"B"}),
        ("mv notes.txt sub/a", {"notes.txt": b"milk", "sub/a": b"A"}),
        ("cp other/a sub", {"sub/a": b"A"}),
        ("sh -c 'echo x > notes.txt'", {"notes.txt": b"milk"}),
        ("echo x > link", {"notes.txt": b"milk"}),
        ("echo x > sub/../notes.txt", {"notes.txt": b"milk"}),
    ],
)
async def test_the_files_of_a_shell_command_are_copied(
    kept: GuardedTurn, command: str, expected: dict[str, bytes]
) -> None:
    root = files(kept)
    (root / "sub/deep").mkdir(parents=True)
    (root / "other").mkdir()
    for path, text in {"sub/a": "A", "sub/deep/b": "B", "other/a": "new"}.items():
        (root / path).write_text(text)
    (root / "link").symlink_to("notes.txt")
    await kept.run([Snapshot()], [shell_call(command)])
    assert await copied(kept) == expected


@pytest.mark.parametrize("command", ["cat notes.txt", "ls", "echo x > /dev/null", "echo x > ../outside.txt"])
async def test_what_writes_no_file_of_the_files_folder_takes_no_snapshot(kept: GuardedTurn, command: str) -> None:
    await kept.run([Snapshot()], [shell_call(command), ToolCall("c2", "files.read", {"path": "notes.txt"})])
    assert await snapshots(kept) == []


@tool(risk=Risk.LOW)
async def peek(path: str) -> str:
    """Look at a file."""
    return path


@tool(risk=Risk.MEDIUM)
async def polish(path: str) -> str:
    """Change a file."""
    return path


async def test_an_unknown_tool_that_may_write_is_preceded_by_a_copy(kept: GuardedTurn) -> None:
    calls = [ToolCall(name, name, {"path": "notes.txt"}) for name in ("peek", "polish")]
    await kept.run([Snapshot()], calls, tools=[peek, polish])
    assert [each.event.tool for each in await snapshots(kept)] == ["polish"]


async def test_copies_are_private_and_out_of_reach(kept: GuardedTurn) -> None:
    await kept.run([Snapshot()], [write_call("notes.txt")])
    folder = SnapshotArchive(kept.folder).folder
    [copy] = folder.iterdir()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    results = await kept.run([], [ToolCall("c1", "files.read", {"path": f"../.sophon/snapshots/{copy.name}"})])
    assert "leaves the folder" in results[0]


async def test_a_call_that_a_person_rejects_takes_no_snapshot(kept: GuardedTurn) -> None:
    kept.gate.decision = Decision.reject("no")
    await kept.run([Snapshot()], [write_call("notes.txt")])
    assert await snapshots(kept) == []


async def test_the_copy_is_that_of_the_moment_of_the_run(kept: GuardedTurn) -> None:
    kept.gate.on_request = lambda _: (files(kept) / "notes.txt").write_text("bread")
    await kept.run([Snapshot()], [write_call("notes.txt", "eggs")])
    assert await copied(kept) == {"notes.txt": b"bread"}


SMALL = {"Guards": {"Snapshot": {"MaxFileBytes": 3}}}


async def test_a_person_decides_on_a_file_that_is_too_large_to_be_copied(kept: GuardedTurn) -> None:
    kept.settings = SMALL
    await kept.run([Snapshot()], [ToolCall("c1", "polish", {"path": "notes.txt"})], tools=[polish])
    [asked] = kept.gate.asked
    assert "Snapshot asks: it cannot be undone: notes.txt has 4 bytes" in asked.preview
    assert await snapshots(kept) == []


async def test_a_file_that_has_grown_since_it_was_judged_blocks_the_call(kept: GuardedTurn) -> None:
    kept.settings = {"Guards": {"Snapshot": {"MaxFileBytes": 4}}}
    kept.gate.on_request = lambda _: (files(kept) / "notes.txt").write_text("bread")
    [result] = await kept.run([Snapshot()], [write_call("notes.txt", "x")])
    assert result.startswith("blocked by Snapshot (too_large): notes.txt has 5 bytes")
    assert (files(kept) / "notes.txt").read_text() == "bread"
    assert kept.verdicts() == [("c1", "Snapshot", "block", "too_large")]


async def test_a_folder_that_becomes_a_link_while_a_person_decides_is_not_followed(kept: GuardedTurn) -> None:
    secret = kept.folder / "secret"
    secret.mkdir()
    (secret / "a").write_text("key")
    (files(kept) / "sub").mkdir()
    (files(kept) / "sub" / "a").write_text("A")

    def swap(_: Any) -> None:
        (files(kept) / "sub").rename(files(kept) / "old")
        (files(kept) / "sub").symlink_to(secret)

    kept.gate.on_request = swap
    [result] = await kept.run([Snapshot()], [write_call("sub/a")])
    assert result.startswith("error")  # the tool follows no link either
    assert (secret / "a").read_text() == "key"
    folder = SnapshotArchive(kept.folder).folder
    assert not folder.exists() or b"key" not in [each.read_bytes() for each in folder.iterdir()]


class RefusingSnapshots:
    async def add(self, events: object) -> None:
        raise StoreError("store", "it is broken")


@pytest.mark.parametrize("broken", ["store", "archive", "special"])
async def test_a_copy_that_fails_blocks_the_write(kept: GuardedTurn, broken: str) -> None:
    target = files(kept) / "notes.txt"
    if broken == "store":
        assert isinstance(kept.store, InMemoryStore)
        kept.store.snapshots = RefusingSnapshots()  # type: ignore[assignment]
    elif broken == "archive":
        (kept.folder / "data" / ".sophon").write_text("a file in the way")
    else:
        target.unlink()
        os.mkfifo(target)
    [result] = await kept.run([Snapshot()], [write_call("notes.txt", "eggs")])
    assert result.startswith("blocked by Snapshot (snapshot_failed)")
    assert broken == "special" or target.read_text() == "milk"


async def test_without_the_guard_nothing_can_be_restored(kept: GuardedTurn) -> None:
    await kept.run([], [write_call("notes.txt", "eggs")])
    assert await snapshots(kept) == []
    assert not SnapshotArchive(kept.folder).folder.exists()
