"""Transport to an MCP server in a child process, with a limit on the length of a message.

The transport of the SDK keeps a line in memory however long it is, and passes on variables of this process. Here the
child has only the given environment, and of a line over the limit nothing but its beginning is kept.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, jsonrpc_message_adapter

from sophon._python.lazy_pattern import lazy_pattern
from sophon_hosting.features.mcp.client.server_process import ServerProcess

MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
TOO_LARGE: Final = -32001
"""Code of the error that takes the place of an answer over the limit."""

_HEAD_BYTES: Final = 512
_ID = lazy_pattern(rb'"id"\s*:\s*(\d{1,18})\b')


class LineSplitter:
    """Splits bytes into lines of at most `limit` bytes; of a longer line it yields the beginning, marked as cut."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line = bytearray()
        self._cut = False

    @property
    def held_bytes(self) -> int:
        """Bytes of the unfinished line that are in memory."""
        return len(self._line)

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, bool]]:
        """Yield each finished line without its end, and whether it was cut."""
        *finished, rest = chunk.split(b"\n")
        for part in finished:
            self._append(part)
            yield bytes(self._line), self._cut
            self._line, self._cut = bytearray(), False
        self._append(rest)

    def _append(self, part: bytes) -> None:
        if self._cut:
            return
        self._line += part[: self._limit + 1 - len(self._line)]
        if len(self._line) > self._limit:
            self._cut = True
            del self._line[_HEAD_BYTES:]


def parse_line(line: bytes, *, cut: bool) -> SessionMessage | Exception:
    """Return the message of a line; for an answer over the limit an error in its place, so that its call ends.

    What is no message is returned as an exception; the call that waits for it ends at its time limit.
    """
    if cut:
        found = _ID.search(line[:_HEAD_BYTES])
        if found is None:
            return ValueError("a message of the MCP server is over the size limit")
        error = ErrorData(code=TOO_LARGE, message="the answer of the MCP server is over the size limit")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found.group(1)), error=error))
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return ValueError("the MCP server wrote a line that is no JSON-RPC message")


@asynccontextmanager
async def open_stdio(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    folder: Path | None = None,
    on_end: Callable[[], None] = lambda: None,
    on_last_words: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Any]:
    """Start a server and yield its streams, for `mcp.Client`; the process and its children end with the block.

    `on_end` is called when the server writes no more, and `on_last_words` with the last line of its standard error,
    which is untrusted text and may hold secrets. Raises OSError if the program cannot be started.
    """
    process = await ServerProcess.start(command, environment, folder)
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        splitter = LineSplitter(MAX_MESSAGE_BYTES)
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            async with to_session:
                while chunk := await process.read():
                    for line, cut in splitter.feed(chunk):
                        if line.strip():
                            await to_session.send(parse_line(line, cut=cut))
        on_end()

    async def write() -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            async with from_session:
                async for message in from_session:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.write(text.encode() + b"\n")
        await to_session.aclose()  # a server that reads no more gives no answer either

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield from_server, to_server
        finally:
            with anyio.CancelScope(shield=True):
                await process.stop()
                on_last_words(process.last_words)
                for stream in (to_session, from_server, to_server, from_session):
                    await stream.aclose()
            tasks.cancel_scope.cancel()
