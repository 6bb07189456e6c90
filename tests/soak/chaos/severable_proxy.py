"""TCP proxy on loopback that a test can sever: the network between the hosts and one engine."""

import asyncio
from contextlib import suppress

CHUNK_BYTES = 2**16


class SeverableProxy:
    """Passes on what arrives at `port` to another port of this machine, until it is severed.

    While it is severed, open connections carry nothing and new ones are not answered, as when a cable is pulled;
    `restore` then breaks those that were open.
    """

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._passes = asyncio.Event()
        self._passes.set()
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        await self._break_connections()

    def sever(self) -> None:
        self._passes.clear()

    async def restore(self) -> None:
        await self._break_connections()
        self._passes.set()

    async def _break_connections(self) -> None:
        broken = [*self._connections]
        for each in broken:
            each.cancel()
        await asyncio.gather(*broken, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._passes.wait()
            await self._pass_on(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        both = [asyncio.create_task(self._pump(*each)) for each in ((reader, far_writer), (far_reader, writer))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in both:
                each.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            far_writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                await self._passes.wait()
                writer.write(data)
                await writer.drain()
