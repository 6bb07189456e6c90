"""A Python program that runs in a process of its own while a part of the bench measures it."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

SERVE = ("-m", "sophon_hosting.cli", "serve", "--port", "0")
LEFT_OUT = ("SOPHON", "OPENAI", "ANTHROPIC", "PYTHONDONTWRITEBYTECODE")
"""Beginnings of the variables that the program does not inherit."""

PACKAGE_FOLDERS = ("", "channels", "hosting", "middlewares")


@dataclass(frozen=True)
class Program:
    """A program that has printed its first line, of which a server's address is the last word."""

    pid: int
    first_line: str

    @property
    def url(self) -> str:
        """Address of a server."""
        return self.first_line.split()[-1]

    def cpu_seconds(self) -> float:
        """CPU time of the process and its threads, in nanoseconds' resolution; `/proc/PID/stat` counts in 10 ms."""
        return time.clock_gettime((~self.pid << 3) | 2)  # what clock_getcpuclockid(3) gives, which Python lacks

    def megabytes(self, field: str = "VmRSS") -> float:
        """A field of `/proc/PID/status`; resident memory is what a container is charged for."""
        return int(Path(f"/proc/{self.pid}/status").read_text().split(f"{field}:")[1].split()[0]) / 1024


@asynccontextmanager
async def started(*arguments: str, folder: str, checkout: Path | None = None) -> AsyncGenerator[Program]:
    """Start Python with the arguments, wait for its first line, and end it afterwards.

    `checkout` is another working tree, whose packages the program imports in place of those of this one.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
    if checkout is not None:
        environment["PYTHONPATH"] = os.pathsep.join(str(checkout.resolve() / each) for each in PACKAGE_FOLDERS)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *arguments),
        cwd=folder,
        env={**environment, "OLLAMA_HOST": "127.0.0.1:9"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode().strip()
        assert line, f"{arguments} did not start"
        yield Program(process.pid, line)
    finally:
        process.terminate()
        await process.communicate()
