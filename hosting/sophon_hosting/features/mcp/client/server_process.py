"""Program of an MCP server: its input and output as pipes of its own, and an end that leaves nothing behind."""

import asyncio
import logging
import os
import select
import signal
from asyncio.subprocess import Process
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import anyio
import anyio.to_thread

from sophon.processes.bounded_pipe import STDERR_LIMIT, BoundedPipeReader

log = logging.getLogger("sophon")

STOP_SECONDS: Final = 2.0
"""Time that the server has to end after its input is closed; then its process group is killed."""

READ_BYTES: Final = 64 * 1024

MARKER: Final = "SOPHON_MCP_PROCESS"
"""Environment variable that each program of a server inherits, whatever session it begins and whoever adopts it."""

END_SECONDS: Final = 1.0
"""Time to wait for the end of a process that was killed; the kernel ends it at once."""

PROC: Final = Path("/proc")


class _InputProtocol(asyncio.StreamReaderProtocol):
    """Protocol of the writer; its reader is never given anything."""

    is_lost = False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        super().connection_lost(exc)


class ServerProcess:
    """A running program. Not asyncio's own pipes: closing those waits for every process that has inherited them."""

    def __init__(
        self,
        process: Process,
        reader: asyncio.StreamReader,
        read_transport: asyncio.BaseTransport,
        write_transport: asyncio.WriteTransport,
        protocol: _InputProtocol,
        errors: BoundedPipeReader,
        marker: str,
    ) -> None:
        self.pid = process.pid
        self._process, self._reader, self._errors, self._marker = process, reader, errors, marker
        self._read_transport, self._write_transport, self._protocol = read_transport, write_transport, protocol
        self._writer = asyncio.StreamWriter(write_transport, protocol, None, asyncio.get_running_loop())

    @classmethod
    async def start(cls, command: Sequence[str], environment: Mapping[str, str], folder: Path | None) -> Self:
        """Start a program in a session of its own, with the given variables and the marker. Raises OSError."""
        loop, marker = asyncio.get_running_loop(), os.urandom(16).hex()
        errors = await BoundedPipeReader(STDERR_LIMIT).open()
        read_end, child_output = os.pipe()
        child_input, write_end = os.pipe()
        output, input_ = os.fdopen(read_end, "rb", buffering=0), os.fdopen(write_end, "wb", buffering=0)
        read_transport: asyncio.BaseTransport | None = None
        write_transport: asyncio.WriteTransport | None = None
        try:
            reader = asyncio.StreamReader(limit=READ_BYTES)
            read_transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), output)
            protocol = _InputProtocol(asyncio.StreamReader())
            write_transport, _ = await loop.connect_write_pipe(lambda: protocol, input_)
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=child_input,
                stdout=child_output,
                stderr=errors.write_end,
                cwd=folder,
                env={**environment, MARKER: marker},
                start_new_session=True,
            )
        except BaseException:
            errors.close()
            for file, transport in ((output, read_transport), (input_, write_transport)):
                file.close() if transport is None else transport.close()
            raise
        finally:
            os.close(child_output)
            os.close(child_input)
        errors.close_write_end()
        return cls(process, reader, read_transport, write_transport, protocol, errors, marker)

    async def read(self) -> bytes:
        """Return some bytes of the output, b"" at its end."""
        return await self._reader.read(READ_BYTES)

    async def write(self, data: bytes) -> None:
        """Write to the input, and wait while the program does not read. Raises OSError if it has closed it."""
        self._writer.write(data)
        await self._writer.drain()

    @property
    def last_words(self) -> str:
        """The last line that the program has written to its standard error."""
        lines = self._errors.text().split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    async def stop(self) -> None:
        """Close the input, wait, kill the process group and every other process of the server, and close the pipes."""
        self._writer.close()
        with anyio.move_on_after(STOP_SECONDS):
            await self._process.wait()
        with suppress(ProcessLookupError, PermissionError):  # its children too, even if it has ended itself
            os.killpg(self.pid, signal.SIGKILL)
        detached = await anyio.to_thread.run_sync(kill_marked, self._marker)
        if detached:
            log.warning("%d processes of an MCP server that had left its process group were killed", detached)
        with anyio.move_on_after(STOP_SECONDS) as waiting:
            await self._process.wait()
        if waiting.cancelled_caught:
            log.warning("the MCP server with process id %d does not end", self.pid)
        self._read_transport.close()
        self._errors.close()
        if not self._protocol.is_lost:  # bytes that nobody reads any more keep it open
            self._write_transport.abort()
        await asyncio.sleep(0)  # the transports close their files in the next pass of the loop


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
