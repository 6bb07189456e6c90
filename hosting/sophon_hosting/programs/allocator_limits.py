"""Limits of the GNU C library's allocator, by mallopt(3). They buy 20 MB of a host that has streamed long answers.

By default glibc adapts to the largest block that was ever freed: after the first long text, blocks of up to 32 MB come
from its heaps and no longer from mappings of their own, and stay with the process when they are freed. With several
threads there are also up to eight heaps per processor. Other C libraries have no such limits.
"""

import ctypes
import sys
from collections.abc import Mapping

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


def select_options(environment: Mapping[str, str]) -> dict[int, int]:
    """Return the options of mallopt to set: none that the operator has set by environment."""
    if TUNABLES_PREFIX in environment.get(TUNABLES_VARIABLE, ""):
        return {}
    return {option: value for name, (option, value) in MALLOPT_OPTIONS.items() if name not in environment}


def limit_allocator(environment: Mapping[str, str]) -> None:
    """Limit what the allocator keeps of freed memory. To be called before the threads of the process start."""
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # musl has none
        return
    mallopt.argtypes, mallopt.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    for option, value in select_options(environment).items():
        mallopt(option, value)
