"""Pipe that a program writes to and the host reads: bounded memory, whatever is written."""

import asyncio
import os
from typing import Self

STDOUT_LIMIT = 5000
STDERR_LIMIT = 2000
"""Bytes kept of each stream by default, half from the start and half from the end; see `share_result`."""

DRAIN_SECONDS = 1.0
"""Time to wait for open streams after the group is killed; only a process that left the group keeps one open."""


def share_result(characters: int) -> tuple[int, int]:
    """Return the bytes to keep of stdout and stderr, so that both together fit into a result of so many characters."""
    return characters * 5 // 8, characters // 4


class PipeReader(asyncio.Protocol):
    """Read end of a pipe; `write_end` is its other end, for a program; `closed` resolves when the pipe has ended."""

    def __init__(self) -> None:
        self.write_end: int | None = None
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.BaseTransport | None = None

    async def open(self) -> Self:
        """Create the pipe, and return this object, which reads it from now on."""
        read_end, self.write_end = os.pipe()
        # Not asyncio's own pipes: before Python 3.13 `wait` waits for those, and so for background processes.
        stream = os.fdopen(read_end, "rb", buffering=0)
        await asyncio.get_running_loop().connect_read_pipe(lambda: self, stream)
        return self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

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


class BoundedPipeReader(PipeReader):
    """Read end of a pipe that keeps the start and the end of the data, at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.total_bytes = 0
        self._half_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._omitted_bytes = 0

    def data_received(self, data: bytes) -> None:
        self.total_bytes += len(data)
        head_part = data[: self._half_limit - len(self._head)]
        self._head += head_part
        self._tail += data[len(head_part) :]
        if (excess := len(self._tail) - self._half_limit) > 0:
            del self._tail[:excess]
            self._omitted_bytes += excess

    def text(self) -> str:
        """Return the kept data as text, with a note in place of the omitted bytes."""
        if not self._omitted_bytes:
            return bytes(self._head + self._tail).decode(errors="replace")
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        return f"{head}\n[{self._omitted_bytes} bytes left out]\n{tail}"


async def wait_until_closed(*listeners: BoundedPipeReader) -> None:
    """Wait until every pipe has ended, at most `DRAIN_SECONDS`."""
    await asyncio.wait([listener.closed for listener in listeners], timeout=DRAIN_SECONDS)
