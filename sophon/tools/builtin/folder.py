"""A folder that nothing gets out of: every path is walked from its root, one name at a time, and no link is followed.

Each name is opened relative to the open folder before it with O_NOFOLLOW, so that a link that is put in place between
a check and its use is refused as well. Rejected: resolving the path and comparing prefixes, which that race defeats.
"""

import contextlib
import errno
import os
import secrets
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sophon.errors import ToolError

MAX_BYTES = 10_000_000
"""Of a file that is read or written."""

MAX_ENTRIES = 2000
"""Of a folder that is listed."""

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
    errno.ENXIO: "it is no ordinary file",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder: `kind` is file, folder, link or other; `bytes` is the size of a file."""

    name: str
    kind: str
    bytes: int | None = None


class Folder:
    """Reads, lists and writes below `root`, which is made when something is first written.

    All methods block and belong in a worker thread. Paths are relative, with `/`; all raise ToolError. Needs a system
    with openat (Linux, macOS, BSD). Hard links cannot be told from files.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> bytes:
        """A whole file."""
        with self._parent(path) as (folder, name), _opened(path, name, os.O_RDONLY | os.O_NONBLOCK, folder) as file:
            return _content(path, file)

    def locate(self, path: str) -> tuple[Path, int]:
        """Where a file really lies, with no link on the way, and its bytes; nothing of it is read."""
        with self._parent(path) as (folder, name), _opened(path, name, os.O_RDONLY | os.O_NONBLOCK, folder) as file:
            return self._root.resolve().joinpath(*_parts(path)), _regular(path, file).st_size

    def list(self, path: str) -> list[Entry]:
        """What lies in a folder, by name; at most 2000 entries. A root that has not been made yet is empty."""
        parts = _parts(path)
        try:
            root = self._open_root(path, make=False)
        except FileNotFoundError:
            if parts:
                raise _refusal(path, errno.ENOENT) from None
            return []
        with _walked(path, root, parts, make=False) as folder, _named(path), os.scandir(folder) as entries:
            found = [_entry(entry) for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False)]
        return sorted(found, key=lambda entry: entry.name)

    def write(self, path: str, content: bytes, *, append: bool = False) -> None:
        """Put `content` in place of a file, or behind what it holds, whole or not at all; folders are made."""
        with _WRITING, self._parent(path, make=True) as (folder, name):
            mode, before = _existing(path, name, folder, read=append)
            if len(before) + len(content) > MAX_BYTES:
                raise ToolError(f"{path!r} would be larger than {MAX_BYTES} bytes")
            with _named(path):
                _replace(folder, name, before + content, mode)

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Generator[tuple[int, str], None, None]:
        parts = _parts(path)
        if not parts:
            raise _refusal(path, errno.EISDIR)
        try:
            root = self._open_root(path, make=make)
        except FileNotFoundError:
            raise _refusal(path, errno.ENOENT) from None
        with _walked(path, root, parts[:-1], make=make) as folder:
            yield folder, parts[-1]

    def _open_root(self, path: str, *, make: bool) -> int:
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise ToolError("files are not available: this system cannot open a file relative to a folder")
        if make:
            with _named(path):
                self._root.mkdir(parents=True, exist_ok=True)
        try:
            # The root itself is the operator's, and may be reached through links.
            return os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _refusal(path, error.errno) from error


# Two appends to one file would each replace what the other wrote.
_WRITING = threading.Lock()


def _parts(path: str) -> list[str]:
    """The names in a relative path; `.` and empty ones count for nothing."""
    if "\0" in path or not path.isprintable():
        raise ToolError(f"{path!r} is no path: it has a control character")
    if path.startswith(("/", "~")) or "\\" in path:
        raise ToolError(f"{path!r} is no path here; give one relative to the files folder, such as notes/today.txt")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ToolError(f"{path!r} leads upwards; '..' is not allowed")
    return parts


@contextmanager
def _walked(path: str, root: int, parts: list[str], *, make: bool) -> Generator[int, None, None]:
    """The folder at the end of `parts`, open; `root` is closed as well."""
    folder = root
    try:
        for part in parts:
            with _named(path):
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=folder)
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


@contextmanager
def _opened(path: str, name: str, flags: int, folder: int) -> Generator[int, None, None]:
    with _named(path):
        file = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        yield file
    finally:
        os.close(file)


def _regular(path: str, file: int) -> os.stat_result:
    about = os.fstat(file)
    if not stat.S_ISREG(about.st_mode):
        raise _refusal(path, errno.EISDIR if stat.S_ISDIR(about.st_mode) else errno.ENXIO)
    return about


def _content(path: str, file: int) -> bytes:
    _regular(path, file)
    with _named(path), os.fdopen(file, "rb", closefd=False) as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ToolError(f"{path!r} is larger than {MAX_BYTES} bytes")
    return content


def _existing(path: str, name: str, folder: int, *, read: bool) -> tuple[int | None, bytes]:
    """The permissions of a file that is to be replaced, None if there is none, and its content if that is needed."""
    with _named(path):
        try:
            os.lstat(name, dir_fd=folder)
        except FileNotFoundError:
            return None, b""
    with _opened(path, name, os.O_RDONLY | os.O_NONBLOCK, folder) as file:
        about = _regular(path, file)
        return stat.S_IMODE(about.st_mode), _content(path, file) if read else b""


def _replace(folder: int, name: str, content: bytes, mode: int | None) -> None:
    """Write beside the file, then rename: a crash leaves the old content or the new, never a part."""
    temporary = f".{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(temporary, flags, 0o666, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as stream:
            if mode is not None:
                os.fchmod(file, mode)
            stream.write(content)
            stream.flush()
            os.fsync(file)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)


def _entry(entry: os.DirEntry[str]) -> Entry:
    # A name that is no text on this disk still has to be shown as one.
    name = os.fsencode(entry.name).decode("utf-8", "replace")
    if entry.is_symlink():
        return Entry(name, "link")
    if entry.is_dir(follow_symlinks=False):
        return Entry(name, "folder")
    if entry.is_file(follow_symlinks=False):
        return Entry(name, "file", entry.stat(follow_symlinks=False).st_size)
    return Entry(name, "other")


@contextmanager
def _named(path: str) -> Generator[None, None, None]:
    """Let the system's errors speak of the path that was asked for, and of nothing outside the folder."""
    try:
        yield
    except OSError as error:
        raise _refusal(path, error.errno) from error


def _refusal(path: str, number: int | None) -> ToolError:
    reason = _REASONS.get(number or 0) or os.strerror(number or 0).lower()
    return ToolError(f"{path!r} cannot be used: {reason}")
