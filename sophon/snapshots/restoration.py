"""Restoration of a snapshot: what it would change, as a diff, and the restoration itself."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon._python.private_files import make_private_folder
from sophon.errors import InputError
from sophon.snapshots.archive import SnapshotArchive, find_excess
from sophon.snapshots.link_safe_files import FileContent, read_file, remove_file, replace_file
from sophon.stores.snapshots.stored_snapshot import SnapshotFile

MAX_DIFF_BYTES = 1_000_000
"""Largest text of which a line-by-line diff is made."""

MAX_READ_BYTES = 1_000_000_000

Change: TypeAlias = Literal["same", "restored", "removed"]


@dataclass(frozen=True, slots=True)
class RestoredFile:
    """What became of a file: `same` it was so already, `restored`, or `removed` because it did not exist before."""

    path: str
    change: Change


def select_files(files: Sequence[SnapshotFile], paths: Sequence[str]) -> list[SnapshotFile]:
    """Return the files of a snapshot with these paths; all without paths. Raises InputError for an unknown path."""
    unknown = [path for path in paths if all(file.path != path for file in files)]
    if unknown:
        raise InputError(
            f"the snapshot has no file {unknown[0]!r}; its files: {', '.join(each.path for each in files)}"
        )
    return [file for file in files if not paths or file.path in paths]


def check_copies(archive: SnapshotArchive, files: Sequence[SnapshotFile]) -> list[str]:
    """Return a problem for each file whose copy is missing or was changed."""
    return [
        f"the copy of {file.path} is missing or was changed"
        for file in files
        if file.copy and archive.read(file) is None
    ]


def restore_files(
    root: Path, archive: SnapshotArchive, files: Sequence[SnapshotFile], current: Sequence[SnapshotFile]
) -> list[RestoredFile]:
    """Bring files back to what they were; `current` is the snapshot of what they are. Raises InputError, OSError.

    Every copy is checked before anything is written; each file is replaced atomically.
    """
    contents = [_read_copy(archive, file) for file in files]
    make_private_folder(root)
    restored: list[RestoredFile] = []
    for file, content, now in zip(files, contents, current, strict=True):
        is_same = file.existed == now.existed and (file.digest, file.mode) == (now.digest, now.mode)
        if content is None and now.existed:
            remove_file(root, file.path)
        elif content is not None and not is_same:
            replace_file(root, file.path, content)
        change: Change = "removed" if content is None else "restored"
        restored.append(RestoredFile(file.path, "same" if is_same else change))
    return restored


def find_loss(root: Path, files: Sequence[SnapshotFile], max_bytes: int) -> str | None:
    """Return why a restoration could not be undone, or None."""
    return find_excess(root, [file.path for file in files], max_bytes)


def format_diff(root: Path, archive: SnapshotArchive, file: SnapshotFile) -> list[str]:
    """Return the lines of a diff from a file as it was to the file as it is; empty if nothing has changed.

    Binary and large files are shown as digests. Raises InputError, OSError.
    """
    before, after = _read_copy(archive, file), read_file(root, file.path, MAX_READ_BYTES)
    if (before is None) == (after is None) and (before is None or after is None or before.data == after.data):
        return []
    old, new = _decode(before), _decode(after)
    if old is None or new is None:
        return [f"--- {file.path}: {_describe(before)}", f"+++ {file.path}: {_describe(after)}"]
    names = (file.path if before else "/dev/null", file.path if after else "/dev/null")
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
    return list(lines) or [f"--- {file.path}: {_describe(before)}", f"+++ {file.path}: {_describe(after)}"]


def _read_copy(archive: SnapshotArchive, file: SnapshotFile) -> FileContent | None:
    """Return the content of a file as it was, or None if it did not exist. Raises InputError."""
    if not file.existed:
        return None
    content = archive.read(file) if file.copy else None
    if content is None:
        raise InputError(f"the copy of {file.path} is missing or was changed; nothing was restored")
    return content


def _decode(content: FileContent | None) -> str | None:
    """Return the text of a file, "" if there is none, None if it is binary or large."""
    if content is None:
        return ""
    if len(content.data) > MAX_DIFF_BYTES or b"\0" in content.data:
        return None
    try:
        return content.data.decode()
    except UnicodeDecodeError:
        return None


def _describe(content: FileContent | None) -> str:
    return "no file" if content is None else f"{len(content.data)} bytes, SHA-256 {content.digest}"
