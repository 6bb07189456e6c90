"""Subprocess runner for one shell command: bounded output, and the process group is killed when the call ends."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import anyio
import anyio.to_thread

from sophon.errors import ToolError
from sophon.private_files import make_private_folder

SHELL = "/bin/sh"
STDOUT_LIMIT = 5000
STDERR_LIMIT = 2000
"""Bytes kept of each stream, half from the start and half from the end; both together fit into a tool result."""

DRAIN_SECONDS = 1.0
"""Time to wait for open streams after the group is killed; only a process that left the group keeps one open."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Result of a command: `code` is the exit code, or minus the number of the signal that ended it."""

    code: int
    stdout: str
    stderr: str


async def run_command(command: str, folder: Path, environment: Mapping[str, str]) -> CommandResult:
    """Run `command` with the shell in `folder`, which is created if missing, and wait for its end.

    The command has its own session, no input, no open file of this process, and exactly the variables of
    `environment`; no process in between inherits more. At the end of the call, also at a timeout or cancellation, every
    process of the group is killed, including background processes, and reaped. A process that starts its own session is
    not killed. Raises ToolError if the command cannot be started.
    """
    try:
        await anyio.to_thread.run_sync(make_private_folder, folder)
        stdout, stderr = await BoundedPipeReader.open(STDOUT_LIMIT), await BoundedPipeReader.open(STDERR_LIMIT)
        try:
            code = await _run_process(command, folder, environment, stdout, stderr)
            await _wait_until_closed(stdout, stderr)
        finally:
            stdout.close()
            stderr.close()
    except (OSError, ValueError, NotImplementedError) as error:
        raise ToolError(f"the command could not be started: {error}") from error
    return CommandResult(code, stdout.text(), stderr.text())


class BoundedPipeReader(asyncio.Protocol):
    """Read end of a pipe that keeps the start and the end of the data, at most `limit` bytes."""

    def __init__(self, limit: int, write_end: int) -> None:
        self.write_end: int | None = write_end
        self.closed = asyncio.get_running_loop().create_future()
        self._half_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._omitted_bytes = 0
        self._transport: asyncio.BaseTransport | None = None

    @classmethod
    async def open(cls, limit: int) -> Self:
        """Create a pipe; the returned object reads it, `write_end` is its other end."""
        read_end, write_end = os.pipe()
        listener = cls(limit, write_end)
        # Not asyncio's own pipes: before Python 3.13 `wait` waits for those, and so for background processes.
        stream = os.fdopen(read_end, "rb", buffering=0)
        await asyncio.get_running_loop().connect_read_pipe(lambda: listener, stream)
        return listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        head_part = data[: self._half_limit - len(self._head)]
        self._head += head_part
        self._tail += data[len(head_part) :]
        if (excess := len(self._tail) - self._half_limit) > 0:
            del self._tail[:excess]
            self._omitted_bytes += excess

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def text(self) -> str:
        """Return the kept data as text, with a note in place of the omitted bytes."""
        if not self._omitted_bytes:
            return bytes(self._head + self._tail).decode(errors="replace")
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        return f"{head}\n[{self._omitted_bytes} bytes left out]\n{tail}"

    def close_write_end(self) -> None:
        """Close the write end, so that the pipe ends with the last process that has it open."""
        if self.write_end is not None:
            os.close(self.write_end)
            self.write_end = None

    def close(self) -> None:
        """Close both ends."""
        self.close_write_end()
        if self._transport is not None:
            self._transport.close()


async def _run_process(
    command: str,
    folder: Path,
    environment: Mapping[str, str],
    stdout: BoundedPipeReader,
    stderr: BoundedPipeReader,
) -> int:
    process = await asyncio.create_subprocess_exec(
        SHELL,
        "-c",
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=stdout.write_end,
        stderr=stderr.write_end,
        cwd=folder,
        env=dict(environment),
        close_fds=True,
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


async def _wait_until_closed(*listeners: BoundedPipeReader) -> None:
    await asyncio.wait([listener.closed for listener in listeners], timeout=DRAIN_SECONDS)
