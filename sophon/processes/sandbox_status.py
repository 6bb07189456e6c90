"""Status of a running bubblewrap: the process in the sandbox, once it waits for its limits, and its exit code."""

import asyncio
import json
import os
from typing import Self

MAX_STATUS_BYTES = 16_384
"""Bytes of status that are kept; bubblewrap writes about 250."""


class SandboxStatus(asyncio.Protocol):
    """Read end of the pipe for `--json-status-fd`.

    `child` resolves to the id of the sandbox's first process, or None if the sandbox could not be set up.
    """

    def __init__(self, write_end: int) -> None:
        self.write_end: int | None = write_end
        loop = asyncio.get_running_loop()
        self.child: asyncio.Future[int | None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._content = bytearray()
        self._transport: asyncio.BaseTransport | None = None

    @classmethod
    async def open(cls) -> Self:
        """Create the pipe; bubblewrap writes to `write_end`."""
        read_end, write_end = os.pipe()
        listener = cls(write_end)
        stream = os.fdopen(read_end, "rb", buffering=0)
        await asyncio.get_running_loop().connect_read_pipe(lambda: listener, stream)
        return listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if len(self._content) < MAX_STATUS_BYTES:
            self._content += data
        child = self._find("child-pid")
        if child is not None and not self.child.done():
            self.child.set_result(child)

    def connection_lost(self, exc: Exception | None) -> None:
        for future in (self.child, self.closed):
            if not future.done():
                future.set_result(None)

    @property
    def exit_code(self) -> int | None:
        """Exit code of the program, 128 and the signal's number if one ended it; None if it never began."""
        return self._find("exit-code")

    def close_write_end(self) -> None:
        """Close the write end, once bubblewrap has its own."""
        if self.write_end is not None:
            os.close(self.write_end)
            self.write_end = None

    def close(self) -> None:
        """Close both ends."""
        self.close_write_end()
        if self._transport is not None:
            self._transport.close()

    def _find(self, name: str) -> int | None:
        return find_number(self._content.decode(errors="replace"), name)


def find_number(text: str, name: str) -> int | None:
    """Return a number of a status: JSON objects, one after the other; None if it is not there, or not yet complete."""
    decoder, position = json.JSONDecoder(), 0
    while (start := text.find("{", position)) >= 0:
        try:
            found, position = decoder.raw_decode(text, start)
        except ValueError:
            return None
        value: object = found.get(name)
        if isinstance(value, int):
            return value
    return None
