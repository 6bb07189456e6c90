"""Files of a person outside of the store: copies in the snapshot archive, their folder, their workspace files."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from sophon._python.lazy_dataclass import dataclass
from sophon.memory.workspace_files import list_workspace_files, open_workspace_file
from sophon.principals import files_folder, owns_files_root
from sophon.settings import Settings
from sophon.snapshots.archive import SnapshotArchive
from sophon.stores.memories.workspace_writes import ARRIVING, DIGESTS_FILE
from sophon.stores.snapshots.stored_snapshot import StoredSnapshot


@dataclass(frozen=True, slots=True)
class PersonFolders:
    """Folders of a host: its own, `Tools.FilesRoot`, and `Memory.Directory`, None without workspace files."""

    host: Path
    files: Path
    memory: Path | None

    @classmethod
    def of_settings(cls, settings: Settings, folder: Path) -> Self:
        """Return the folders of a host whose own is `folder`."""
        memory = settings.memory.directory
        return cls(folder, folder / settings.tools.files_root, None if memory is None else folder / memory.expanduser())


class PersonFiles:
    """Files of one person. All methods block and must run in a worker thread; they raise OSError."""

    def __init__(self, folders: PersonFolders, person: str) -> None:
        self._folders, self._person = folders, person
        self._archive = SnapshotArchive(folders.host)

    def read_workspace(self) -> dict[str, str]:
        """Return the person's workspace files: name and text."""
        found: dict[str, str] = {}
        for path in self._workspace_files():
            with open_workspace_file(path) as file:
                found[path.name] = file.read().decode("utf-8", "replace")
        return found

    def read_copies(self, snapshot: StoredSnapshot) -> list[bytes | None]:
        """Return the contents of a snapshot's files; None for one without a copy, or whose copy was changed."""
        found = [self._archive.read(each) if each.copy else None for each in snapshot.event.files]
        return [None if each is None else each.data for each in found]

    def remove(self, snapshots: Sequence[StoredSnapshot]) -> int:
        """Delete the copies of snapshots, the person's folder, and the workspace files; return how many files.

        The files of the local user are the project's, in `Tools.FilesRoot` itself: they stay.
        """
        copies = [each.copy for snapshot in snapshots for each in snapshot.event.files if each.copy]
        self._archive.remove(copies)
        removed = len(copies)
        for path in self._workspace_files():
            path.unlink(missing_ok=True)
            removed += 1
        if self._folders.memory is not None:
            own = self._folders.memory / files_folder(self._person)
            for path in (own / DIGESTS_FILE, *own.glob(f".*{ARRIVING}")):
                path.unlink(missing_ok=True)
        if not owns_files_root(self._person):
            roots = [each for each in (self._folders.files, self._folders.memory) if each is not None]
            removed += sum(_remove_folder(root / files_folder(self._person)) for root in roots)
        return removed

    def _workspace_files(self) -> list[Path]:
        if self._folders.memory is None:
            return []
        return list_workspace_files(self._folders.memory / files_folder(self._person))


def _remove_folder(folder: Path) -> int:
    if folder.is_symlink() or not folder.is_dir():
        return 0
    count = sum(each.is_file() or each.is_symlink() for each in folder.rglob("*"))
    shutil.rmtree(folder)
    return count
