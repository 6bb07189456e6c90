"""Files of a folder that are opened without following a link, and replaced atomically."""

import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from sophon._python.lazy_dataclass import dataclass
from sophon._python.private_files import open_inner_folder, replace_file_in


@dataclass(frozen=True, slots=True)
class FileContent:
    """Content and permissions of a regular file."""

    data: bytes
    mode: int

    @property
    def digest(self) -> str:
        """SHA-256 of the content in hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()


def read_file(root: Path, path: str, max_bytes: int) -> FileContent | None:
    """Return the content of a file, or None if there is none; at most one byte more than `max_bytes` is read.

    Raises OSError for a link, for what is no regular file, and for a folder that cannot be read.
    """
    try:
        with _open_folder(root, path) as (folder, name):
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(file, "rb") as stream:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(f"{path!r} is no regular file")
        return FileContent(stream.read(max_bytes + 1), stat.S_IMODE(about.st_mode))


def find_size(root: Path, path: str) -> int:
    """Return the size of a file in bytes, 0 if there is none."""
    try:
        return (root / path).lstat().st_size
    except FileNotFoundError:
        return 0


def replace_file(root: Path, path: str, content: FileContent) -> None:
    """Replace or create a file atomically, with missing folders. Raises OSError."""
    with _open_folder(root, path, make=True) as (folder, name):
        _check_regular(name, folder)
        replace_file_in(folder, name, content.data, content.mode & 0o777)


def remove_file(root: Path, path: str) -> None:
    """Remove a file if there is one. Raises OSError."""
    with suppress(FileNotFoundError), _open_folder(root, path) as (folder, name):
        _check_regular(name, folder)
        os.unlink(name, dir_fd=folder)
        os.fsync(folder)


def _check_regular(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.lstat(name, dir_fd=folder).st_mode):
            raise OSError(f"{name!r} is a link or a folder by now")


@contextmanager
def _open_folder(root: Path, path: str, *, make: bool = False) -> Generator[tuple[int, str]]:
    """Open the folder that a relative path ends in; yield it with the last name of the path."""
    *folders, name = PurePath(path).parts
    if PurePath(path).is_absolute() or os.pardir in (*folders, name):
        raise OSError(f"{path!r} is outside the folder")
    root_folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    folder = open_inner_folder(root_folder, folders, make=make)
    try:
        yield folder, name
    finally:
        os.close(folder)
