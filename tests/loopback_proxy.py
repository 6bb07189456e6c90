"""Proxy on loopback between a client and a server: it can be cut, and go silent with its connections open."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Coroutine
from typing import Any

LIMIT_SECONDS = 10


class LoopbackProxy:
    """Forwards connections to a port of this machine, in a thread of its own.

    `stop` resets all connections and refuses new ones, as a server does that crashes; `start` accepts again.
    `silence` forwards nothing more and closes nothing, as a network that swallows all.
    """

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._passing = asyncio.Event()
        self._thread.start()

    def start(self) -> None:
        """Accept connections."""
        self._run(self._start())

    def stop(self) -> None:
        """Reset all connections, and refuse new ones."""
        self._run(self._stop())

    def silence(self) -> None:
        """Forward nothing more until `start`."""
        self._loop.call_soon_threadsafe(self._passing.clear)

    def close(self) -> None:
        """End the thread."""
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LIMIT_SECONDS)
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(LIMIT_SECONDS)

    async def _start(self) -> None:
        self._passing.set()
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self._passing.set()
        while self._writers:
            for writer in self._writers:
                writer.transport.abort()
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(self._forward(reader, back), self._forward(there, writer))

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with contextlib.suppress(OSError):
                while data := await reader.read(65_536):
                    await self._passing.wait()
                    writer.write(data)
                    await writer.drain()
        finally:
            self._writers.discard(writer)
            writer.transport.abort()
