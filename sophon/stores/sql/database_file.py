"""The file of an SQLite database: private from its creation on, and made private if an earlier version was not."""

import logging
from pathlib import Path

from sophon.private_files import create_private_file, make_private_folder, tighten_file

log = logging.getLogger("sophon")

COMPANIONS = ("", "-wal", "-shm", "-journal")
"""Suffixes of the files of one database; SQLite gives new companions the mode of the database."""

SQLITE_HEADER = b"SQLite format 3\0"
"""First bytes of every database that is not empty. Source: sqlite.org/fileformat2.html 1.3."""


def secure_database_file(path: Path) -> None:
    """Create the file and its folder, if missing, with modes 0600 and 0700; take the rights of others from the files.

    Raises OSError.
    """
    make_private_folder(path.parent)
    create_private_file(path)
    if not path.is_file() or not _may_be_database(
        path
    ):  # a file of something else: opening it fails, and its mode is not ours to change
        return
    tightened = [each for suffix in COMPANIONS if tighten_file(each := Path(f"{path}{suffix}"))]
    if tightened:
        names = ", ".join(each.name for each in tightened)
        log.warning("others could read the database in %s; mode 0600 was set on %s", path.parent, names)


def _may_be_database(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(len(SQLITE_HEADER))
    return head in (b"", SQLITE_HEADER)
