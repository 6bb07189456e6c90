"""Restoration: what comes back is what was there, whatever it was."""

import os
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import InputError
from sophon.snapshots import archive as archive_module
from sophon.snapshots.archive import SnapshotArchive, find_excess
from sophon.snapshots.link_safe_files import read_file, remove_file, replace_file
from sophon.snapshots.restoration import format_diff, restore_files, select_files

MAX = 1000
names = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\"), min_size=1, max_size=20
).filter(lambda name: name not in (".", "..") and len(name.encode()) < 200)
contents = st.none() | st.binary(max_size=50)


@given(names, names, contents, contents, st.sampled_from([0o600, 0o640, 0o755]))
def test_a_restoration_undoes_a_write_and_another_one_undoes_the_restoration(
    folder: str, name: str, before: bytes | None, after: bytes | None, mode: int
) -> None:
    with tempfile.TemporaryDirectory() as place:
        root, archive = Path(place, "files"), SnapshotArchive(Path(place))
        root.mkdir()
        path = f"{folder}/{name}"
        put(root, path, before, mode)
        taken = archive.take(root, "before", [path], MAX)
        put(root, path, after, 0o600)
        current = archive.take(root, "after", [path], MAX)
        restore_files(root, archive, taken, current)
        assert look(root, path) == (None if before is None else (before, mode))
        assert format_diff(root, archive, taken[0]) == []
        restore_files(root, archive, current, archive.take(root, "again", [path], MAX))
        assert look(root, path) == (None if after is None else (after, 0o600))


def put(root: Path, path: str, data: bytes | None, mode: int) -> None:
    file = root / path
    file.unlink(missing_ok=True)
    if data is not None:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
        file.chmod(mode)


def look(root: Path, path: str) -> tuple[bytes, int] | None:
    found = read_file(root, path, MAX)
    return None if found is None else (found.data, found.mode)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    root.mkdir()
    (root / "a").write_text("A")
    return root


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "sub/../../a"])
def test_no_path_leaves_the_folder(root: Path, path: str) -> None:
    for act in (lambda: read_file(root, path, MAX), lambda: remove_file(root, path)):
        with pytest.raises(OSError, match="outside the folder"):
            act()


def test_what_is_no_regular_file_is_neither_read_nor_replaced(root: Path) -> None:
    content = read_file(root, "a", MAX)
    assert content is not None
    (root / "folder").mkdir()
    (root / "link").symlink_to("a")
    os.mkfifo(root / "pipe")
    for path in ("folder", "link", "pipe"):
        with pytest.raises(OSError):
            read_file(root, path, MAX)
        with pytest.raises(OSError, match="a link or a folder by now"):
            replace_file(root, path, content)
    assert sorted(each.name for each in root.iterdir()) == ["a", "folder", "link", "pipe"]


def test_a_set_user_id_bit_is_not_restored(root: Path, tmp_path: Path) -> None:
    archive = SnapshotArchive(tmp_path)
    (root / "a").chmod(0o4755)
    taken = archive.take(root, "x", ["a"], MAX)
    (root / "a").write_text("B")
    restore_files(root, archive, taken, archive.take(root, "y", ["a"], MAX))
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o755


def test_a_missing_copy_restores_none_of_the_files(root: Path, tmp_path: Path) -> None:
    archive = SnapshotArchive(tmp_path)
    (root / "b").write_text("B")
    taken = archive.take(root, "x", ["a", "b"], MAX)
    (root / "a").write_text("new")
    (archive.folder / "x.1").unlink()
    with pytest.raises(InputError, match="the copy of b is missing or was changed"):
        restore_files(root, archive, taken, archive.take(root, "y", ["a", "b"], MAX))
    assert (root / "a").read_text() == "new"


def test_a_snapshot_that_fails_leaves_no_copy(root: Path, tmp_path: Path) -> None:
    archive = SnapshotArchive(tmp_path)
    (root / "folder").mkdir()
    with pytest.raises(OSError):
        archive.take(root, "x", ["a", "folder"], MAX)
    assert list(archive.folder.iterdir()) == []


def test_only_files_of_the_snapshot_are_selected(root: Path, tmp_path: Path) -> None:
    taken = SnapshotArchive(tmp_path).take(root, "x", ["a", "new"], MAX)
    assert select_files(taken, ["new"]) == taken[1:]
    with pytest.raises(InputError, match="has no file 'b'; its files: a, new"):
        select_files(taken, ["b"])


@pytest.mark.parametrize(
    ("files", "total", "max_bytes", "reason"),
    [
        (1000, 100, 2, None),
        (0, 100, 2, "more than the 0 files"),
        (10, 100, 0, "a has 1 bytes"),
        (10, 0, 1, "have 1 bytes"),
    ],
)
def test_what_is_too_much_for_a_snapshot(
    root: Path, monkeypatch: pytest.MonkeyPatch, files: int, total: int, max_bytes: int, reason: str | None
) -> None:
    monkeypatch.setattr(archive_module, "MAX_FILES", files)
    monkeypatch.setattr(archive_module, "MAX_TOTAL_BYTES", total)
    found = find_excess(root, ["a"], max_bytes)
    assert (found is None) if reason is None else (found is not None and reason in found)
