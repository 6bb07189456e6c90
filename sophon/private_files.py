"""Files and folders that only the account of this process can read; for everything the host writes."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TextIO

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


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
