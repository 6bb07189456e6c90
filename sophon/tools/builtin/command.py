"""One command as a group of processes: started, listened to within bounds, and gone when the call is over."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import anyio
import anyio.to_thread

from sophon.errors import ToolError

SHELL = "/bin/sh"
STDOUT_LIMIT = 5000
STDERR_LIMIT = 2000
"""Bytes kept of each stream, half from the beginning and half from the end; together they fit a tool's result."""

DRAIN_SECONDS = 1.0
"""How long a stream may stay open after the group is dead: only a process that left the group holds it."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH", re.IGNORECASE)
_PASSWORD_IN_ADDRESS = re.compile(r"://[^/\s]*:[^/\s]*@")


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended: `code` is its exit code, or minus the signal that ended it."""

    code: int
    stdout: str
    stderr: str


async def run_command(command: str, folder: Path) -> Finished:
    """Run `command` by the shell in `folder`, which is made if it is missing, and wait for its end.

    It has its own session, no input, and an environment without secrets. However the call ends, by itself, by a
    time-out or by cancellation, every process of the group is killed, those in the background too, and none is left
    unreaped. A process that makes a session of its own is beyond reach. Raises ToolError if it cannot be started.
    """
    try:
        await anyio.to_thread.run_sync(lambda: folder.mkdir(parents=True, exist_ok=True))
        stdout, stderr = await Listener.open(STDOUT_LIMIT), await Listener.open(STDERR_LIMIT)
        try:
            code = await _run(command, folder, stdout, stderr)
            await _drained(stdout, stderr)
        finally:
            stdout.close()
            stderr.close()
    except (OSError, ValueError, NotImplementedError) as error:
        raise ToolError(f"the command could not be started: {error}") from error
    return Finished(code, stdout.text(), stderr.text())


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names do not sound like a secret and whose values are no address with a password."""
    return {
        name: value
        for name, value in environment.items()
        if not _SECRET_NAME.search(name) and not _PASSWORD_IN_ADDRESS.search(value)
    }


class Listener(asyncio.Protocol):
    """The reading end of a pipe: keeps the beginning and the end of what arrives, never more than `limit` bytes."""

    def __init__(self, limit: int, write_end: int) -> None:
        self.write_end: int | None = write_end
        self.closed = asyncio.get_running_loop().create_future()
        self._room = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0
        self._transport: asyncio.BaseTransport | None = None

    @classmethod
    async def open(cls, limit: int) -> Self:
        """A new pipe, of which this is one end and `write_end` the other."""
        read_end, write_end = os.pipe()
        listener = cls(limit, write_end)
        # Not asyncio's own pipes: until 3.13 `wait` also waits for those, and so for everything left in the background.
        stream = os.fdopen(read_end, "rb", buffering=0)
        await asyncio.get_running_loop().connect_read_pipe(lambda: listener, stream)
        return listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        into_head = data[: self._room - len(self._head)]
        self._head += into_head
        self._tail += data[len(into_head) :]
        if (surplus := len(self._tail) - self._room) > 0:
            del self._tail[:surplus]
            self._left_out += surplus

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def text(self) -> str:
        """What was kept, with a note in the place of what was not."""
        if not self._left_out:
            return bytes(self._head + self._tail).decode(errors="replace")
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        return f"{head}\n[{self._left_out} bytes left out]\n{tail}"

    def close_write_end(self) -> None:
        """Let go of the other end, so that the pipe ends with the last process that holds it."""
        if self.write_end is not None:
            os.close(self.write_end)
            self.write_end = None

    def close(self) -> None:
        """Let go of both ends."""
        self.close_write_end()
        if self._transport is not None:
            self._transport.close()


async def _run(command: str, folder: Path, stdout: Listener, stderr: Listener) -> int:
    process = await asyncio.create_subprocess_exec(
        SHELL,
        "-c",
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=stdout.write_end,
        stderr=stderr.write_end,
        cwd=folder,
        env=without_secrets(os.environ),
        start_new_session=True,
    )
    try:
        stdout.close_write_end()
        stderr.close_write_end()
        return await process.wait()
    finally:
        _kill_group(process.pid)
        with anyio.CancelScope(shield=True):
            await process.wait()


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


async def _drained(*listeners: Listener) -> None:
    await asyncio.wait([listener.closed for listener in listeners], timeout=DRAIN_SECONDS)
