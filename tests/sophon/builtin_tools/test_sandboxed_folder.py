"""No path leads out of the folder, and no write leaves half a file."""

import contextlib
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.builtin_tools.sandboxed_folder import MAX_FILE_BYTES, FolderEntry, SandboxedFolder
from sophon.errors import ToolError


@pytest.fixture
def folder(root: Path) -> SandboxedFolder:
    return SandboxedFolder(root)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file beside the folder, which nothing may reach."""
    path = tmp_path / "secret.txt"
    path.write_text("secret")
    return path


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir())


def test_what_is_written_is_read(folder: SandboxedFolder) -> None:
    folder.write("notes/2026/today.txt", b"hello")
    assert folder.read("notes/2026/today.txt") == b"hello"
    assert folder.read("./notes//2026/./today.txt") == b"hello"


def test_root_folders_and_files_are_for_the_account_of_the_host_only(folder: SandboxedFolder, root: Path) -> None:
    before = os.umask(0)
    try:
        folder.write("notes/today.txt", b"hello")
    finally:
        os.umask(before)
    made = (root, root / "notes", root / "notes/today.txt")
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o700, 0o700, 0o600]


def test_a_file_is_located_where_it_really_lies_and_a_link_or_folder_nowhere(
    folder: SandboxedFolder, root: Path, secret: Path, tmp_path: Path
) -> None:
    folder.write("a/b.txt", b"12345")
    (tmp_path / "way").symlink_to(root)
    assert SandboxedFolder(tmp_path / "way").locate("./a//b.txt") == (root.resolve() / "a/b.txt", 5)
    (root / "link").symlink_to(secret)
    for path in ("link", "a", ".", "../secret.txt", "gone"):
        with pytest.raises(ToolError):
            folder.locate(path)


def test_the_root_is_made_by_the_first_write_only(folder: SandboxedFolder, root: Path) -> None:
    assert folder.list(".") == []
    with pytest.raises(ToolError, match="does not exist"):
        folder.read("a.txt")
    with pytest.raises(ToolError, match="does not exist"):
        folder.list("notes")
    assert not root.exists()
    folder.write("a.txt", b"")
    assert root.is_dir()


def test_a_list_is_sorted_and_tells_kinds_and_sizes(folder: SandboxedFolder, root: Path, secret: Path) -> None:
    folder.write("b.txt", b"12345")
    folder.write("a/inner.txt", b"")
    (root / "link").symlink_to(secret)
    os.mkfifo(root / "pipe")
    expected = [
        FolderEntry("a", "folder"),
        FolderEntry("b.txt", "file", 5),
        FolderEntry("link", "link"),
        FolderEntry("pipe", "other"),
    ]
    assert folder.list("") == expected
    assert folder.list("a") == [FolderEntry("inner.txt", "file", 0)]


def test_a_name_that_is_no_text_is_shown_all_the_same(folder: SandboxedFolder, root: Path) -> None:
    root.mkdir(parents=True)
    (root / os.fsdecode(b"caf\xe9")).touch()
    assert folder.list(".") == [FolderEntry("caf\ufffd", "file", 0)]


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "a/../../secret.txt",
        "a/..",
        "..",
        "/etc/passwd",
        "//etc/passwd",
        "~/x",
        "..\\secret.txt",
        "a\0b",
        "a\nb",
        "C:\\x",
    ],
)
def test_a_path_that_leads_out_is_refused(folder: SandboxedFolder, secret: Path, path: str) -> None:
    folder.write("a/b.txt", b"")
    for act in (folder.read, folder.list, lambda path: folder.write(path, b"x")):
        with pytest.raises(ToolError):
            act(path)
    assert secret.read_text() == "secret"


def test_a_link_to_a_file_is_followed_by_nothing(folder: SandboxedFolder, root: Path, secret: Path) -> None:
    folder.write("a.txt", b"")
    (root / "link.txt").symlink_to(secret)
    for act in (folder.read, lambda path: folder.write(path, b"x"), lambda path: folder.write(path, b"x", append=True)):
        with pytest.raises(ToolError, match="link"):
            act("link.txt")
    assert secret.read_text() == "secret"


def test_a_link_to_a_folder_is_followed_by_nothing(
    folder: SandboxedFolder, root: Path, tmp_path: Path, secret: Path
) -> None:
    folder.write("a.txt", b"")
    (root / "out").symlink_to(tmp_path)
    (root / "nowhere").symlink_to(tmp_path / "new")
    for act in (folder.read, lambda path: folder.write(path, b"x")):
        for path in ("out/secret.txt", "nowhere/x.txt"):
            with pytest.raises(ToolError, match="link"):
                act(path)
    with pytest.raises(ToolError, match="link"):
        folder.list("out")
    assert secret.read_text() == "secret"
    assert not (tmp_path / "new").exists()


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to("real")
    SandboxedFolder(tmp_path / "root").write("a.txt", b"x")
    assert (tmp_path / "real" / "a.txt").read_bytes() == b"x"


@contextlib.contextmanager
def again_and_again(swap: Callable[[], None]) -> Iterator[None]:
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            swap()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def content(folder: SandboxedFolder, path: str) -> bytes:
    try:
        return folder.read(path)
    except ToolError:
        return b""


def test_a_folder_that_is_swapped_for_a_link_leads_nowhere(folder: SandboxedFolder, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("secret")
    folder.write("current/a.txt", b"inside")
    (root / "link").symlink_to(tmp_path / "outside")

    def swap() -> None:
        for away, back in (("real", "link"), ("link", "real")):
            (root / "current").rename(root / away)
            (root / back).rename(root / "current")

    with again_and_again(swap):
        seen = {content(folder, "current/a.txt") for _ in range(5000)}
    assert seen == {b"", b"inside"}


def test_a_file_that_is_swapped_for_a_link_leads_nowhere(folder: SandboxedFolder, root: Path, secret: Path) -> None:
    folder.write("a.txt", b"inside")

    def swap() -> None:
        (root / "link").symlink_to(secret)
        (root / "link").replace(root / "a.txt")
        (root / "file").write_text("inside")
        (root / "file").replace(root / "a.txt")

    with again_and_again(swap):
        for _ in range(300):
            with contextlib.suppress(ToolError):
                folder.write("a.txt", b"inside", append=True)
            assert b"secret" not in content(folder, "a.txt")
    assert secret.read_text() == "secret"


def test_folders_and_special_files_are_no_files(folder: SandboxedFolder, root: Path) -> None:
    folder.write("a/b.txt", b"")
    os.mkfifo(root / "pipe")
    for path in ("a", "pipe", "a/b.txt/c", "", "."):
        for act in (
            folder.read,
            lambda path: folder.write(path, b"x"),
            lambda path: folder.write(path, b"", append=True),
        ):
            with pytest.raises(ToolError):
                act(path)
    assert stat.S_ISFIFO((root / "pipe").lstat().st_mode)


def test_appending_adds_and_writing_replaces(folder: SandboxedFolder) -> None:
    folder.write("a.txt", b"one", append=True)
    folder.write("a.txt", b" two", append=True)
    assert folder.read("a.txt") == b"one two"
    folder.write("a.txt", b"three")
    assert folder.read("a.txt") == b"three"


def test_a_file_keeps_its_permissions_and_leaves_no_temporary_file(folder: SandboxedFolder, root: Path) -> None:
    folder.write("run.sh", b"one")
    (root / "run.sh").chmod(0o750)
    folder.write("run.sh", b"two")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750
    assert names(root) == ["run.sh"]


def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(folder: SandboxedFolder, root: Path) -> None:
    folder.write("a/b.txt", b"x")
    with pytest.raises(ToolError):
        folder.write("a", b"now a file")
    with pytest.raises(ToolError, match="too long"):
        folder.write("n" * 300, b"x")
    assert names(root) == ["a"]


def test_sizes_are_limited(folder: SandboxedFolder, root: Path) -> None:
    folder.write("a.txt", b"x" * MAX_FILE_BYTES)
    with pytest.raises(ToolError, match="larger than"):
        folder.write("a.txt", b"x", append=True)
    with (root / "a.txt").open("ab") as file:
        file.write(b"x")
    with pytest.raises(ToolError, match="larger than"):
        folder.read("a.txt")


def test_appends_from_many_threads_are_all_kept(folder: SandboxedFolder) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: folder.write("log.txt", b"%d\n" % number, append=True), range(40)))
    assert sorted(map(int, folder.read("log.txt").split())) == list(range(40))


def test_no_descriptor_is_left_open(folder: SandboxedFolder, root: Path, secret: Path) -> None:
    folder.write("a/b.txt", b"x")
    (root / "link").symlink_to(secret)
    before = len(names(Path("/proc/self/fd")))
    for path in ("a/b.txt", "a", "link", "link/x", "a/b.txt/c", "none/x", "none"):
        for act in (folder.read, folder.list, lambda path: folder.write(path, b"x", append=True)):
            with contextlib.suppress(ToolError):
                act(path)
    assert len(names(Path("/proc/self/fd"))) == before


NAMES = st.sampled_from(
    ["..", ".", "", "a", "out", "up", "secret.txt", "~", "\\", "*", "...", "a.txt", "/", "\0", "..\u200b"]
)


@given(st.lists(NAMES, max_size=6).map("/".join) | st.text(max_size=40))
def test_no_path_escapes_the_root(path: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        outside = Path(place)
        (outside / "secret.txt").write_text("secret")
        root = outside / "root"
        (root / "a").mkdir(parents=True)
        (root / "out").symlink_to(outside)
        (root / "up").symlink_to("..")
        folder = SandboxedFolder(root)
        with contextlib.suppress(ToolError):
            folder.write(path, b"written")
        with contextlib.suppress(ToolError):
            assert folder.read(path) == b"written"
        with contextlib.suppress(ToolError):
            assert FolderEntry("root", "folder") not in folder.list(path)
        assert names(outside) == ["root", "secret.txt"]
        assert (outside / "secret.txt").read_text() == "secret"
