"""Resource usage of a process and its descendants, from /proc; for limits on all of them together.

Limits of single processes (rlimits) bound neither the memory of many processes nor, for root, their number; control
groups would, but a host may rarely create one.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sophon._python.lazy_dataclass import dataclass

CHILDREN_FILE = Path("/proc/thread-self/children")
"""File that exists where the kernel lists the children of a thread (CONFIG_PROC_CHILDREN)."""


@dataclass(frozen=True, slots=True)
class TreeUsage:
    """Threads of all processes, and the bytes of memory that are theirs and no copy of a file."""

    threads: int
    memory_bytes: int


def measure_tree(root: int, *, max_threads: int, max_memory_bytes: int) -> TreeUsage:
    """Measure the descendants of a process, without itself. Counting ends once there are more than `max_threads`.

    Memory that processes share is counted once, at a higher cost, and so only if the sum over all is above
    `max_memory_bytes`. A process that ends meanwhile counts for nothing.
    """
    threads, processes, todo = 0, list[int](), list(_list_children(root))
    while todo and threads <= max_threads:
        process = todo.pop()
        processes.append(process)
        threads += len(_list_threads(process))
        todo += _list_children(process)
    memory = sum(map(_read_resident_bytes, processes))
    if memory > max_memory_bytes:
        memory = sum(map(_read_proportional_bytes, processes))
    return TreeUsage(threads, memory)


def _list_threads(process: int) -> list[Path]:
    with suppress(OSError):
        return list(Path(f"/proc/{process}/task").iterdir())
    return []


def _list_children(process: int) -> Iterator[int]:
    for thread in _list_threads(process):
        with suppress(OSError):
            yield from map(int, (thread / "children").read_text().split())


def _read_resident_bytes(process: int) -> int:
    return _sum_kilobytes(Path(f"/proc/{process}/status"), ("RssAnon:", "RssShmem:"))


def _read_proportional_bytes(process: int) -> int:
    return _sum_kilobytes(Path(f"/proc/{process}/smaps_rollup"), ("Pss_Anon:", "Pss_Shmem:"))


def _sum_kilobytes(path: Path, names: tuple[str, ...]) -> int:
    with suppress(OSError):
        lines = path.read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))
    return 0
