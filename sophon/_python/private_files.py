"""Files and folders that only the account of this process can read; for everything the host writes.

Also how they are opened without following a link, and replaced so that a crash leaves the old or the new.
"""

import os
import secrets
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700

REPLACED = ".old"
"""End of the name of a folder while another one takes its place; see `replacing_folder`."""


def make_private_folder(path: Path) -> None:
    """Create a folder and its missing parents with mode 0700; existing ones keep theirs. Raises OSError."""
    # Not `mkdir(parents=True)`: it gives the mode to the last folder only.
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
    path.mkdir(PRIVATE_FOLDER, exist_ok=True)


def create_private_file(path: Path) -> None:
    """Create an empty file with mode 0600 unless there is one. Raises OSError."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))


def open_new_private_file(path: Path) -> TextIO:
    """Open a new text file with mode 0600 for writing. Raises FileExistsError, OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    return os.fdopen(descriptor, "w", encoding="utf-8")


def tighten_file(path: Path) -> bool:
    """Take the rights of others from a file that they may read, and return whether it was changed.

    A file of another owner, one that others cannot read, and a missing one stay: a file that is shared with its group
    only was set up so.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or not needs_tightening(about.st_mode):
            return False
        path.chmod(PRIVATE_FILE)
    except OSError:
        return False
    return True


def needs_tightening(mode: int) -> bool:
    """Return whether others than the owner and the group have any right."""
    return bool(mode & 0o007)


def open_inner_folder(folder: int, parts: Iterable[str], *, make: bool = False) -> int:
    """Open the folder at the end of `parts` below an open one, which is closed; with `make` missing ones are created.

    Each component is opened relative to the folder before it and without following a link: a link that is put in place
    of a folder between two steps is an error. Raises OSError.
    """
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, PRIVATE_FOLDER, dir_fd=folder)
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
    except BaseException:
        os.close(folder)
        raise
    return folder


def replace_file_in(folder: int, name: str, content: bytes, mode: int | None = None) -> None:
    """Write a temporary file in an open folder, then rename it: a crash leaves the old or the new content.

    `mode` are its permissions, by default those of a private file. Raises OSError.
    """
    temporary = f".{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(temporary, flags, PRIVATE_FILE, dir_fd=folder)
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


@contextmanager
def replacing_folder(target: Path) -> Generator[Path]:
    """Yield the path of a folder to be made, which then takes the place of `target`; if that fails, the old one stays.

    After a kill the old one may be left under its name with a dot in front and `REPLACED` behind it. Raises OSError.
    """
    import shutil  # which loads modules of compression; the default chain, which loads this one, needs none

    arriving, leaving = target.with_name(f".{target.name}.new"), target.with_name(f".{target.name}{REPLACED}")
    for each in (arriving, leaving):
        shutil.rmtree(each, ignore_errors=True)
    try:
        yield arriving
        if target.exists():
            target.rename(leaving)
        arriving.rename(target)
    except OSError:
        if leaving.exists() and not target.exists():
            leaving.rename(target)
        raise
    finally:
        for each in (arriving, leaving):
            shutil.rmtree(each, ignore_errors=True)
