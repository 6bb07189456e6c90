"""Sandboxed folder: every path is opened from its root, one component at a time, and no link is followed.

Each component is opened relative to the open parent folder with O_NOFOLLOW, so a link that is created between check
and use (TOCTOU) is rejected too. Rejected alternative: resolving the path and comparing prefixes, which has that race.
"""

import errno
import os
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sophon._python.lazy_dataclass import dataclass
from sophon._python.private_files import make_private_folder, open_inner_folder, replace_file_in
from sophon.errors import ToolError

MAX_FILE_BYTES = 10_000_000
"""Maximum size of a file that is read or written."""

MAX_ENTRIES = 2000
"""Maximum number of listed entries."""

_REASONS = {
    errno.ENOENT: "it does not exist",
    errno.ENOTDIR: "a part of it is a file or a link, not a folder",
    errno.EISDIR: "it is a folder",
    errno.ELOOP: "it is a link, and links are not followed",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
    errno.ENAMETOOLONG: "a name in it is too long",
    errno.ENOSPC: "the disk is full",
    errno.EROFS: "the disk is read-only",
    errno.ENXIO: "it is not a regular file",
}


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """Entry of a folder: `kind` is file, folder, link or other; `bytes` is the size of a file."""

    name: str
    kind: str
    bytes: int | None = None


class SandboxedFolder:
    """Sandboxed access to files below `root`, which is created at the first write.

    All methods block and must run in a worker thread. Paths are relative, with `/`; all methods raise ToolError.
    `hidden` is the name of an entry of the root that does not exist for a caller, in any case of its letters.
    Requires a system with openat (Linux, macOS, BSD). Hard links are not detected.
    """

    def __init__(self, root: Path, *, hidden: str = "") -> None:
        self._root, self._hidden = root, hidden

    def read(self, path: str, *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        """Read a whole file of at most `max_bytes`."""
        with (
            self._open_parent(path) as (folder, name),
            _open_file(path, name, os.O_RDONLY | os.O_NONBLOCK, folder) as file,
        ):
            return _read_content(path, file, max_bytes)

    def locate(self, path: str) -> tuple[Path, int]:
        """Return the absolute path of a file, free of links, and its size in bytes, without reading it."""
        with (
            self._open_parent(path) as (folder, name),
            _open_file(path, name, os.O_RDONLY | os.O_NONBLOCK, folder) as file,
        ):
            return self._root.resolve().joinpath(*_split_path(path, self._hidden)), _stat_file(path, file).st_size

    def list(self, path: str) -> list[FolderEntry]:
        """List a folder, sorted by name; at most 2000 entries. A root that does not exist yet is empty."""
        parts = _split_path(path, self._hidden)
        try:
            root = self._open_root(path, make=False)
        except FileNotFoundError:
            if parts:
                raise _build_error(path, errno.ENOENT) from None
            return []
        with (
            _open_folder(path, root, parts, make=False) as folder,
            _tool_errors(path),
            os.scandir(folder) as entries,
        ):
            found = [_build_entry(entry) for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False)]
        visible = [entry for entry in found if parts or not _is_hidden(entry.name, self._hidden)]
        return sorted(visible, key=lambda entry: entry.name)

    def write(self, path: str, content: bytes, *, append: bool = False, max_bytes: int = MAX_FILE_BYTES) -> None:
        """Replace a file, or append to it, atomically; missing folders are created. It has at most `max_bytes` then."""
        with _WRITE_LOCK, self._open_parent(path, make=True) as (folder, name):
            mode, before = _read_existing(path, name, folder, read=append)
            if len(before) + len(content) > max_bytes:
                raise ToolError(f"{path!r} would be larger than {max_bytes} bytes")
            with _tool_errors(path):
                replace_file_in(folder, name, before + content, mode)

    @contextmanager
    def _open_parent(self, path: str, *, make: bool = False) -> Generator[tuple[int, str], None, None]:
        parts = _split_path(path, self._hidden)
        if not parts:
            raise _build_error(path, errno.EISDIR)
        try:
            root = self._open_root(path, make=make)
        except FileNotFoundError:
            raise _build_error(path, errno.ENOENT) from None
        with _open_folder(path, root, parts[:-1], make=make) as folder:
            yield folder, parts[-1]

    def _open_root(self, path: str, *, make: bool) -> int:
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise ToolError("files are not available: this system cannot open a file relative to a folder")
        if make:
            with _tool_errors(path):
                make_private_folder(self._root)
        try:
            # The root is set by the operator and may contain links.
            return os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _build_error(path, error.errno) from error


# Two appends to one file would each replace what the other wrote.
_WRITE_LOCK = threading.Lock()


def _is_hidden(name: str, hidden: str) -> bool:
    return bool(hidden) and name.casefold() == hidden.casefold()


def _split_path(path: str, hidden: str = "") -> list[str]:
    """The names in a relative path; `.` and empty ones count for nothing. A path to `hidden` does not exist."""
    if "\0" in path or not path.isprintable():
        raise ToolError(f"{path!r} is not a valid path: it has a control character")
    if path.startswith(("/", "~")) or "\\" in path:
        raise ToolError(f"{path!r} is not a valid path; give one relative to the files folder, such as notes/today.txt")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ToolError(f"{path!r} leaves the folder; '..' is not allowed")
    if parts and _is_hidden(parts[0], hidden):
        raise _build_error(path, errno.ENOENT)
    return parts


def check_relative_path(path: str) -> str:
    """Return a path as it is; ValueError if it can be in no files folder, whatever is there.

    As a validator of a tool's argument it refuses the call before anybody is asked about it.
    """
    try:
        _split_path(path)
    except ToolError as error:
        raise ValueError(str(error)) from None
    return path


@contextmanager
def _open_folder(path: str, root: int, parts: list[str], *, make: bool) -> Generator[int, None, None]:
    """Open the folder at the end of `parts`; closes it and `root` on exit."""
    with _tool_errors(path):
        folder = open_inner_folder(root, parts, make=make)
    try:
        yield folder
    finally:
        os.close(folder)


@contextmanager
def _open_file(path: str, name: str, flags: int, folder: int) -> Generator[int, None, None]:
    with _tool_errors(path):
        file = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        yield file
    finally:
        os.close(file)


def _stat_file(path: str, file: int) -> os.stat_result:
    about = os.fstat(file)
    if not stat.S_ISREG(about.st_mode):
        raise _build_error(path, errno.EISDIR if stat.S_ISDIR(about.st_mode) else errno.ENXIO)
    return about


def _read_content(path: str, file: int, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    _stat_file(path, file)
    with _tool_errors(path), os.fdopen(file, "rb", closefd=False) as stream:
        content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ToolError(f"{path!r} is larger than {max_bytes} bytes")
    return content


def _read_existing(path: str, name: str, folder: int, *, read: bool) -> tuple[int | None, bytes]:
    """Return the permissions of an existing file, None if it does not exist, and its content if `read`."""
    with _tool_errors(path):
        try:
            os.lstat(name, dir_fd=folder)
        except FileNotFoundError:
            return None, b""
    with _open_file(path, name, os.O_RDONLY | os.O_NONBLOCK, folder) as file:
        about = _stat_file(path, file)
        return stat.S_IMODE(about.st_mode), _read_content(path, file) if read else b""


def _build_entry(entry: os.DirEntry[str]) -> FolderEntry:
    # A file name may be invalid UTF-8.
    name = os.fsencode(entry.name).decode("utf-8", "replace")
    if entry.is_symlink():
        return FolderEntry(name, "link")
    if entry.is_dir(follow_symlinks=False):
        return FolderEntry(name, "folder")
    if entry.is_file(follow_symlinks=False):
        return FolderEntry(name, "file", entry.stat(follow_symlinks=False).st_size)
    return FolderEntry(name, "other")


@contextmanager
def _tool_errors(path: str) -> Generator[None, None, None]:
    """Convert OSError to ToolError with the requested path, so that nothing outside the folder is disclosed."""
    try:
        yield
    except OSError as error:
        raise _build_error(path, error.errno) from error


def _build_error(path: str, number: int | None) -> ToolError:
    reason = _REASONS.get(number or 0) or os.strerror(number or 0).lower()
    return ToolError(f"{path!r} cannot be used: {reason}")
