"""Line reader of standard input: blocking at a prompt between turns, asynchronous while a turn runs."""

import asyncio
import contextlib
import os
import sys
from types import ModuleType

STDIN_DESCRIPTOR = 0
READ_BYTES = 65536


class StdinReader:
    """Reads standard input line by line, for the prompt and for approvals.

    Reads the file descriptor directly: all readers share one buffer, no thread blocks in a read when the program ends,
    and waiting for an answer can be cancelled. In a terminal the prompt has line editing and a history if this Python
    has readline.
    """

    def __init__(self, descriptor: int = STDIN_DESCRIPTOR) -> None:
        _keep_descriptor_open(descriptor)
        self._descriptor = descriptor
        self._buffer = b""
        self._ended = False
        self.is_interactive = os.isatty(descriptor)
        self._readline = _import_readline() if self.is_interactive and sys.stdout.isatty() else None

    def read_line(self, prompt: str) -> str | None:
        """Block until the next line and return it; None at the end of the input. Ctrl-C raises KeyboardInterrupt."""
        if self._readline is not None and not self._buffer:
            try:
                return input(prompt)
            except EOFError:
                return None
        if self.is_interactive:
            sys.stdout.write(prompt)
            sys.stdout.flush()
        while (line := self._next_buffered_line()) is None and not self._ended:
            self._fill_buffer()
        return line if line is not None else self._buffered_remainder()

    async def read_line_async(self) -> str | None:
        """Wait for the next line and return it; None at the end of the input. Cancellation loses no line."""
        while (line := self._next_buffered_line()) is None and not self._ended:
            await self._wait_until_readable()
            self._fill_buffer()
        return line if line is not None else self._buffered_remainder()

    async def _wait_until_readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_reader(self._descriptor, _set_ready, ready)
        except (OSError, NotImplementedError):  # a regular file, which never blocks; or an unsupported loop
            return
        try:
            await ready
        finally:
            loop.remove_reader(self._descriptor)

    def _fill_buffer(self) -> None:
        try:
            data = os.read(self._descriptor, READ_BYTES)
        except OSError:  # standard input is closed, or its terminal was closed
            data = b""
        self._buffer += data
        self._ended = self._ended or not data

    def _next_buffered_line(self) -> str | None:
        line, end, rest = self._buffer.partition(b"\n")
        if not end:
            return None
        self._buffer = rest
        return _decode(line)

    def _buffered_remainder(self) -> str | None:
        line, self._buffer = self._buffer, b""
        if self.is_interactive:  # in a terminal, end of file is one key press and not a lasting state
            self._ended = False
        return _decode(line) if line else None


def _keep_descriptor_open(descriptor: int) -> None:
    """Open the null device as `descriptor` if it is closed, so that the next opened file does not get its number."""
    try:
        os.fstat(descriptor)
    except OSError:
        empty = os.open(os.devnull, os.O_RDONLY)
        if empty != descriptor:
            os.dup2(empty, descriptor)
            os.close(empty)


def _set_ready(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")


def _import_readline() -> ModuleType | None:
    """Import readline, which gives `input` line editing; None if this Python lacks it."""
    with contextlib.suppress(ImportError):
        import readline  # lazy: not available on every platform, and only a terminal needs it

        return readline
    return None
