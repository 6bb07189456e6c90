"""Allocator of the GNU C library: mallopt, malloc_trim and mallinfo2 by ctypes. Other C libraries have none of them.

By default glibc adapts to the largest block that was ever freed: after the first long text, blocks of up to 32 MB come
from its heaps and no longer from mappings of their own, and stay with the process when they are freed. With several
threads there are also up to eight heaps per processor. Sources: mallopt(3), malloc_trim(3), mallinfo(3).
"""

import ctypes
import sys
from collections.abc import Mapping
from pathlib import Path

MMAP_THRESHOLD_BYTES = 128 * 1024
"""Blocks of this size and more have a mapping of their own, which is returned when they are freed. It is glibc's own
initial value; setting it keeps glibc from raising it.
"""
TRIM_THRESHOLD_BYTES = 1024 * 1024
"""Free memory at the end of the main heap beyond which it is returned at once."""
MAX_ARENAS = 2
"""Heaps for all threads: the event loop's, and one for the threads of the store."""

MALLOPT_OPTIONS: Mapping[str, tuple[int, int]] = {
    "MALLOC_MMAP_THRESHOLD_": (-3, MMAP_THRESHOLD_BYTES),
    "MALLOC_TRIM_THRESHOLD_": (-1, TRIM_THRESHOLD_BYTES),
    "MALLOC_ARENA_MAX": (-8, MAX_ARENAS),
}
"""Option number of mallopt and value, by the environment variable that sets the same. Source: malloc.h of glibc."""

TUNABLES_VARIABLE = "GLIBC_TUNABLES"
TUNABLES_PREFIX = "glibc.malloc."

RESIDENT_FILE = Path("/proc/self/statm")


class HeapStatistics(ctypes.Structure):
    """`struct mallinfo2`, of which `fordblks` is the number of free bytes in all heaps."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


class GlibcAllocator:
    """The allocator of this process; `load_allocator` returns it."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._mallopt, self._trim = library.mallopt, library.malloc_trim
        self._mallopt.argtypes, self._mallopt.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
        self._trim.argtypes, self._trim.restype = [ctypes.c_size_t], ctypes.c_int
        self._statistics = getattr(library, "mallinfo2", None)
        if self._statistics is not None:
            self._statistics.argtypes, self._statistics.restype = [], HeapStatistics

    def configure(self, options: Mapping[int, int]) -> None:
        """Set options of mallopt; an option that the library does not accept stays as it is."""
        for option, value in options.items():
            self._mallopt(option, value)

    def trim(self) -> None:
        """Return all free pages to the system. Other threads may wait for their heap meanwhile."""
        self._trim(0)

    def read_free_bytes(self) -> int | None:
        """Return the number of free bytes in the heaps, returned pages included; None before glibc 2.33."""
        return int(self._statistics().fordblks) if self._statistics is not None else None


def load_allocator() -> GlibcAllocator | None:
    """Return the allocator of the process; None if it is not glibc's."""
    if sys.platform != "linux":
        return None
    try:
        return GlibcAllocator(ctypes.CDLL(None))
    except (OSError, AttributeError):  # musl has neither mallopt nor malloc_trim
        return None


def select_options(environment: Mapping[str, str]) -> dict[int, int]:
    """Return the options of mallopt to set: none that the operator has set by environment."""
    if TUNABLES_PREFIX in environment.get(TUNABLES_VARIABLE, ""):
        return {}
    return {option: value for name, (option, value) in MALLOPT_OPTIONS.items() if name not in environment}


def configure_allocator(environment: Mapping[str, str]) -> None:
    """Limit what the allocator keeps of freed memory. To be called before the threads of the process start."""
    allocator = load_allocator()
    if allocator is not None:
        allocator.configure(select_options(environment))


def read_resident_bytes() -> int:
    """Return the resident memory of the process; 0 where the system does not tell it."""
    try:
        pages = int(RESIDENT_FILE.read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * _page_bytes()


def _page_bytes() -> int:
    import resource  # lazy: Windows has no such module

    return resource.getpagesize()
