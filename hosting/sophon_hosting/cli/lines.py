"""Lines from standard input: at a prompt between turns, and as answers while a turn runs."""

import asyncio
import contextlib
import os
import sys
from types import ModuleType

STDIN = 0
CHUNK = 65536


class Lines:
    """Standard input, line by line, in order, whoever asks.

    Reads the descriptor itself: nothing is read ahead that another reader would miss, no thread is left hanging in a
    read when the program ends, and a wait for an answer can be cancelled. In a terminal the prompt has line editing and
    a history, where this Python has readline.
    """

    def __init__(self, descriptor: int = STDIN) -> None:
        _keep_taken(descriptor)
        self._descriptor = descriptor
        self._buffer = b""
        self._ended = False
        self.interactive = os.isatty(descriptor)
        self._readline = _readline() if self.interactive and sys.stdout.isatty() else None

    def prompt(self, text: str) -> str | None:
        """The next line, waited for outside of any turn; None at the end. Ctrl-C raises KeyboardInterrupt."""
        if self._readline is not None and not self._buffer:
            try:
                return input(text)
            except EOFError:
                return None
        if self.interactive:
            sys.stdout.write(text)
            sys.stdout.flush()
        while (line := self._taken()) is None and not self._ended:
            self._read()
        return line if line is not None else self._rest()

    async def next(self) -> str | None:
        """The next line, waited for while the turn goes on; None at the end. May be cancelled: no line gets lost."""
        while (line := self._taken()) is None and not self._ended:
            await self._readable()
            self._read()
        return line if line is not None else self._rest()

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_reader(self._descriptor, _wake, ready)
        except (OSError, NotImplementedError):  # a file or nothing, which never waits; or a loop that cannot tell
            return
        try:
            await ready
        finally:
            loop.remove_reader(self._descriptor)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, CHUNK)
        except OSError:  # standard input is closed, or its terminal is gone
            data = b""
        self._buffer += data
        self._ended = self._ended or not data

    def _taken(self) -> str | None:
        line, end, rest = self._buffer.partition(b"\n")
        if not end:
            return None
        self._buffer = rest
        return _text(line)

    def _rest(self) -> str | None:
        line, self._buffer = self._buffer, b""
        if self.interactive:  # the end of file in a terminal is a key that was pressed once, not a state
            self._ended = False
        return _text(line) if line else None


def _keep_taken(descriptor: int) -> None:
    """A closed standard input is an empty one: the next file to be opened must not get its number."""
    try:
        os.fstat(descriptor)
    except OSError:
        empty = os.open(os.devnull, os.O_RDONLY)
        if empty != descriptor:
            os.dup2(empty, descriptor)
            os.close(empty)


def _wake(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")


def _readline() -> ModuleType | None:
    """Line editing for `input`, which uses it once it is imported."""
    with contextlib.suppress(ImportError):
        import readline  # lazy: not on every platform, and only a terminal needs it

        return readline
    return None
