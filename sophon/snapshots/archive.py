"""Archive: the copies of files as they were, in a folder of the host that tools do not reach."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from sophon._python.private_files import PRIVATE_FILE, make_private_folder
from sophon.snapshots.link_safe_files import FileContent, find_size, read_file, replace_file
from sophon.stores.snapshots.stored_snapshot import SnapshotFile

ARCHIVE_FOLDER = "data/.sophon/snapshots"
"""Below the host's folder. The guard Protection keeps tools from every folder named `.sophon`."""

MAX_FILES = 1000
MAX_TOTAL_BYTES = 100_000_000
"""Files and bytes of one snapshot."""

ORPHAN_SECONDS = 3600.0
"""Age after which a copy that no entry has is deleted: its process was killed before the entry was stored."""


class SnapshotArchive:
    """Copies below the host's folder. All methods block and must run in a worker thread; they raise OSError."""

    def __init__(self, host_folder: Path) -> None:
        self.folder = host_folder.absolute() / ARCHIVE_FOLDER

    def take(self, root: Path, snapshot_id: str, paths: Sequence[str], max_bytes: int) -> list[SnapshotFile]:
        """Copy the files of a folder; return what they are. A file larger than `max_bytes` is not copied.

        The copies are on the disk when this returns. If it fails, no copy stays.
        """
        make_private_folder(self.folder)
        files: list[SnapshotFile] = []
        try:
            for index, path in enumerate(paths):
                files.append(self._copy(root, path, f"{snapshot_id}.{index}", max_bytes))
        except BaseException:
            self.remove(file.copy for file in files if file.copy)
            raise
        return files

    def read(self, file: SnapshotFile) -> FileContent | None:
        """Return the copy of a file with its former permissions; None if it is missing or was changed."""
        content = read_file(self.folder, file.copy, file.size)
        if content is None or content.digest != file.digest:
            return None
        return FileContent(content.data, file.mode)

    def remove(self, copies: Iterable[str]) -> None:
        """Delete copies; missing ones are ignored."""
        for name in copies:
            with suppress(FileNotFoundError):
                (self.folder / name).unlink()

    def list_old_copies(self, now: datetime) -> list[str]:
        """Return the names of the copies that are not about to get their entry."""
        if not self.folder.is_dir():
            return []
        limit = now.timestamp() - ORPHAN_SECONDS
        with os.scandir(self.folder) as entries:
            return [each.name for each in entries if each.stat(follow_symlinks=False).st_mtime < limit]

    def _copy(self, root: Path, path: str, name: str, max_bytes: int) -> SnapshotFile:
        content = read_file(root, path, max_bytes)
        if content is None:
            return SnapshotFile(path, existed=False)
        size = len(content.data)
        if size > max_bytes:
            return SnapshotFile(path, existed=True, size=find_size(root, path), mode=content.mode)
        replace_file(self.folder, name, FileContent(content.data, PRIVATE_FILE))
        return SnapshotFile(path, True, content.digest, size, content.mode, name)


def find_excess(root: Path, paths: Sequence[str], max_bytes: int) -> str | None:
    """Return why the files cannot all be copied, or None."""
    if len(paths) > MAX_FILES:
        return f"it would change more than the {MAX_FILES} files that a snapshot has"
    sizes = {path: find_size(root, path) for path in paths}
    large = next((path for path, size in sizes.items() if size > max_bytes), None)
    if large is not None:
        return f"{large} has {sizes[large]} bytes, and files of more than {max_bytes} bytes are not copied"
    total = sum(sizes.values())
    if total > MAX_TOTAL_BYTES:
        return f"its files have {total} bytes, and a snapshot has at most {MAX_TOTAL_BYTES}"
    return None
