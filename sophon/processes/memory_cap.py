"""Cap on the memory of a sandbox that the kernel enforces, for all its processes together: a control group.

It bounds what measuring is too slow for: many processes that allocate at once. What counts is the memory of the
processes and the files in the file systems in memory (/tmp, /dev/shm), also those that nobody has mapped; files of
disks that the kernel keeps in memory are given up before anything is refused. Where no such group can be created the
measurement holds, and RLIMIT_DATA for each process.
"""

import itertools
import os
import re
from contextlib import suppress
from pathlib import Path

from sophon.errors import ToolError
from sophon.processes.process_cap import GROUP_ROOT, list_candidates, remove_group

PAGE_BYTES = 4096
"""The kernel rounds a limit down to whole pages."""

_LIMIT_FILES = ("memory.max", "memory.limit_in_bytes")
"""File of the limit, in version 2 and 1 of control groups."""
_SWAP_FILES = {"memory.max": ("memory.swap.max", False), "memory.limit_in_bytes": ("memory.memsw.limit_in_bytes", True)}
"""File of the limit on swap, which a kernel may not have; whether it covers the memory too."""
_KILL_FILES = {"memory.max": "memory.events", "memory.limit_in_bytes": "memory.oom_control"}
"""File with the number of processes that the kernel has killed for want of memory."""
_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)

_numbers = itertools.count(1)


def find_memory_folder(membership: str, processes: Path | None, root: Path = GROUP_ROOT) -> Path | None:
    """Return the folder in which groups that limit memory can be created, after one was; None without such a folder.

    `membership` is the content of /proc/self/cgroup, `processes` the folder of the groups that count processes, if
    there are any. In version 2 a process is in one group: it must be the same folder then.
    """
    for folder in list_candidates(membership, root, "memory"):
        is_version_2 = (folder / "cgroup.subtree_control").exists()
        if is_version_2 and processes not in (None, folder) and (folder / "cgroup.controllers").exists():
            continue
        with suppress(ToolError):
            MemoryGroup(folder, 64 * 1024 * 1024).remove()
            return folder
    return None


class MemoryGroup:
    """Control group of one sandbox, whose processes have at most `limit` bytes of memory together, none of it swapped.

    `own` is a group that the sandbox has already, in version 2. Raises ToolError if it cannot be created or has no
    effect.
    """

    def __init__(self, folder: Path, limit: int, own: Path | None = None) -> None:
        self._is_own = own is not None
        self.path = own or folder / f"sophon-memory-{os.getpid()}-{next(_numbers)}"
        try:
            if own is None:
                self.path.mkdir()
            self._set_limit(limit // PAGE_BYTES * PAGE_BYTES)
        except OSError as error:
            self.remove()
            raise ToolError(f"the memory cannot be limited: {error}") from error

    def add(self, process: int) -> None:
        """Put a process into the group, and with it all that it starts from now on."""
        try:
            _write(self.path / "cgroup.procs", process)
        except OSError as error:
            raise ToolError(f"the memory cannot be limited: {error}") from error

    def has_killed(self) -> bool:
        """Return whether the kernel has killed a process of the group because its memory was used up."""
        with suppress(OSError):
            found = _KILLS.search((self.path / _KILL_FILES[self._limit_file]).read_text())
            return found is not None and int(found[1]) > 0
        return False

    def remove(self) -> None:
        """Remove the group, whose processes have ended, as `ProcessGroup.remove`."""
        if not self._is_own:
            remove_group(self.path)

    def _set_limit(self, limit: int) -> None:
        self._limit_file = next((each for each in _LIMIT_FILES if (self.path / each).exists()), _LIMIT_FILES[0])
        _write(self.path / self._limit_file, limit)
        swap_file, covers_memory = _SWAP_FILES[self._limit_file]
        if (self.path / swap_file).exists():
            _write(self.path / swap_file, limit if covers_memory else 0)


def _write(path: Path, value: int) -> None:
    """Write a number, and make sure that it is there: a folder that is no control group takes it as well."""
    if not path.exists():
        raise OSError(f"{path} does not exist")
    path.write_text(str(value))
    if str(value) not in path.read_text().split():
        raise OSError(f"{path} does not take {value}")
