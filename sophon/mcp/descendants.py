"""Processes that a server has started, found in /proc; on other systems none are."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

MARKER: Final = "SOPHON_MCP_PROCESS"
"""Environment variable that each program of a server inherits, whatever session it begins and whoever adopts it."""

END_SECONDS: Final = 1.0
"""Time to wait for the end of a process that was killed; the kernel ends it at once."""

PROC: Final = Path("/proc")


def find_marked(marker: str) -> list[int]:
    """Return the ids of the processes whose environment has the marker; those of other accounts cannot be read."""
    wanted = f"{MARKER}={marker}".encode()
    return [process for process in _list_processes() if wanted in _read_environment(process)]


def kill_marked(marker: str) -> int:
    """Kill the processes with the marker, wait for their end, and return how many there were; blocks."""
    killed = 0
    for process in find_marked(marker):
        with suppress(OSError):
            descriptor = os.pidfd_open(process)  # a process id may be used again meanwhile
            try:
                if f"{MARKER}={marker}".encode() in _read_environment(process):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                    select.select([descriptor], [], [], END_SECONDS)
                    killed += 1
            finally:
                os.close(descriptor)
    return killed


def _list_processes() -> Iterator[int]:
    with suppress(OSError):
        for each in PROC.iterdir():
            if each.name.isdigit():
                yield int(each.name)


def _read_environment(process: int) -> list[bytes]:
    with suppress(OSError):
        return (PROC / str(process) / "environ").read_bytes().split(b"\0")
    return []
