"""Cap on the number of processes of a sandbox that the kernel enforces: RLIMIT_NPROC or a control group.

Measuring is too slow for this: processes that start processes fill a machine within one interval. RLIMIT_NPROC counts
in the sandbox's user namespace, but the kernel exempts root from it; there a control group counts (`pids.max`).
"""

import itertools
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sophon.errors import ToolError

COUNTED_KERNEL = (5, 14)
"""Kernel from which RLIMIT_NPROC counts in the sandbox's own user namespace; before, all processes of the account."""

SPARE_PROCESSES = 4
"""Processes between the limit and the cap: those of bubblewrap, and room to measure and report that it was exceeded."""

GROUP_ROOT = Path("/sys/fs/cgroup")
"""Where control groups are mounted."""

REMOVE_ATTEMPTS, REMOVE_SECONDS = 50, 0.02
"""Attempts to remove a group, and the time between two: the kernel lets go of ended processes a moment later."""

NO_CAP = (
    "the kernel does not limit the number of processes of this account (it is root, or the kernel is older than 5.14), "
    "and no control group can be created; run the host under an account without privileges"
)
"""Problem of a machine on which a command could start processes without end."""

_numbers = itertools.count(1)


def is_capped_by_rlimit(uid: int, uid_map: str, release: str) -> bool:
    """Return whether RLIMIT_NPROC holds for processes of this account in a user namespace of their own.

    `uid_map` is the content of /proc/self/uid_map: an account of a container may be root outside.
    """
    return 0 not in (uid, _find_outer_id(uid, uid_map)) and parse_release(release) >= COUNTED_KERNEL


def parse_release(release: str) -> tuple[int, ...]:
    """Return the first two numbers of a kernel's release."""
    return tuple(map(int, re.findall(r"\d+", release)[:2]))


def _find_outer_id(uid: int, uid_map: str) -> int:
    """Return the id outside the user namespace; 0, the strictest, if the map does not name it."""
    for line in uid_map.splitlines():
        inner, outer, length = map(int, line.split())
        if inner <= uid < inner + length:
            return outer + uid - inner
    return 0


def needs_group() -> bool:
    """Return whether the processes of this account must be counted by a control group."""
    uid_map = Path("/proc/self/uid_map").read_text()
    return not is_capped_by_rlimit(os.getuid(), uid_map, os.uname().release)


def find_group_folder(membership: str, root: Path = GROUP_ROOT) -> Path | None:
    """Return the folder in which groups that count processes can be created, after one was; None without such a folder.

    `membership` is the content of /proc/self/cgroup. It is the nearest one to the host's own group.
    """
    for folder in list_candidates(membership, root):
        with suppress(ToolError):
            ProcessGroup(folder, 1).remove()
            return folder
    return None


def list_candidates(membership: str, root: Path, controller: str = "pids") -> Iterator[Path]:
    """Yield the folders in which groups with a controller may be created, the nearest to the own group first."""
    for line in membership.splitlines():
        _, controllers, own = line.split(":", 2)
        if controller in controllers.split(","):
            yield _join(root / controller, own)
        elif not controllers:
            for mount in (root, root / "unified"):
                yield from _list_delegating(_join(mount, own), mount, controller)


def _join(mount: Path, own: str) -> Path:
    return mount / own.lstrip("/") if ".." not in own.split("/") else mount


def _list_delegating(folder: Path, mount: Path, controller: str) -> Iterator[Path]:
    """Yield the groups of version 2, from `folder` upwards, whose subgroups have the controller."""
    for each in (folder, *folder.parents):
        with suppress(OSError):
            if controller in (each / "cgroup.subtree_control").read_text().split():
                yield each
        if each == mount:
            return


class ProcessGroup:
    """Control group of one sandbox, with at most `limit` processes and threads.

    Raises ToolError if it cannot be created or has no effect.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.path = folder / f"sophon-{os.getpid()}-{next(_numbers)}"
        try:
            self.path.mkdir()
            self._write("pids.max", limit)
        except OSError as error:
            with suppress(OSError):
                self.path.rmdir()
            raise ToolError(f"the number of processes cannot be limited: {error}") from error

    def add(self, process: int) -> None:
        """Put a process into the group, and with it all that it starts from now on."""
        try:
            self._write("cgroup.procs", process)
        except OSError as error:
            raise ToolError(f"the number of processes cannot be limited: {error}") from error

    def remove(self) -> None:
        """Remove the group, whose processes have ended; blocks until the kernel has let go of them, for a second."""
        remove_group(self.path)

    def _write(self, name: str, value: int) -> None:
        """Write a number, and make sure that it is there: a folder that is no control group takes it as well."""
        path = self.path / name
        if not path.exists():
            raise OSError(f"{path} does not exist")
        path.write_text(str(value))
        if str(value) not in path.read_text().split():
            raise OSError(f"{path} does not take {value}")


def remove_group(path: Path) -> None:
    """Remove a control group whose processes have ended; blocks until the kernel has let go of them, for a second."""
    for _ in range(REMOVE_ATTEMPTS):
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(REMOVE_SECONDS)
        else:
            return
