"""Processes that each parse one file from outside: bounded time, a few at once, and one sentence if there is no result.

Parsers of hostile files hang and grow, and hold the interpreter while they run. The program is a `parser_worker`, which
sets the limits of its own memory and CPU time.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sophon.clock import Clock
from sophon.errors import InputError, ToolError
from sophon.processes.command_runner import run_unconfined
from sophon_channels.text.single_line import to_single_line

MAX_CONCURRENT: Final = 2
"""Files that are parsed at once; each is a process of up to 1 GiB."""
WAIT_SECONDS: Final = 30.0
"""How long a file waits for others that are parsed."""
MAX_REASON_CHARACTERS: Final = 300

_PASSED_VARIABLES: Final = ("PYTHONPATH", "LANG", "SYSTEMROOT")


class ParsersBusy(Exception):
    """Error: other files were parsed for longer than a file waits."""


class ParserProcesses:
    """Runs a program for one file at a time of several, given the paths of the file and of its result."""

    def __init__(self, clock: Clock, program: Sequence[str], *, timeout_seconds: float) -> None:
        self._clock, self._program, self._timeout_seconds = clock, tuple(program), timeout_seconds
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)

    async def run(self, path: Path, target: Path) -> None:
        """Parse a file into `target`, whose folder is one that only this process writes.

        Raises InputError with the reason if there is no result, ParsersBusy if there was no free process in time.
        """
        environment = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        try:
            async with self._clock.timeout(WAIT_SECONDS):
                await self._slots.acquire()
        except TimeoutError:
            raise ParsersBusy from None
        try:
            async with self._clock.timeout(self._timeout_seconds):
                result = await run_unconfined([*self._program, str(path), str(target)], target.parent, environment)
        except TimeoutError:
            raise InputError(f"reading it took longer than {self._timeout_seconds:.0f} s") from None
        except ToolError as error:
            raise InputError(to_single_line(str(error), MAX_REASON_CHARACTERS)) from error
        finally:
            self._slots.release()
        if result.code < 0:  # ended by the kernel: its memory or CPU time was used up
            raise InputError("reading it takes too much memory or time")
        if result.code != 0:
            raise InputError(to_single_line(result.stdout, MAX_REASON_CHARACTERS) or "it could not be read")


def build_program(module: str) -> tuple[str, ...]:
    """Return the command that runs a module; with -P it imports nothing from the folder in which it runs."""
    return (sys.executable, "-P", "-m", module)
