"""Engine.IO over aiohttp as a host needs it: what is no packet is refused before the library meets it, and every
connection ends.

What of python-engineio 4.15 this replaces, and why: its reader of the body of a polling request takes what the first
TCP segment brought; its WebSocket lets what is no packet escape as an exception that leaves the connection behind; and
a WebSocket whose client has stopped reading never ends, since its writer waits for ever.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

# Neither library says what types it has.
import engineio.async_drivers.aiohttp as driver  # type: ignore[import-untyped]
from aiohttp import web

from sophon.clock import Clock
from sophon_hosting.events.frame import encoded
from sophon_hosting.failures import Failure
from sophon_hosting.hub.frames import is_frame, payload_problem
from sophon_hosting.hub.limits import Limits

NO_PACKET = 1008
"""Policy violation: how a WebSocket is closed on which something else than Engine.IO is spoken. Source: RFC 6455."""

_environ_of: Any = cast(Any, driver).translate_request

Environ: TypeAlias = dict[str, Any]


class Body:
    """The body of a request, read already."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def read(self, _length: int) -> bytes:
        """All of it."""
        return self._content


class WebSocket:
    """What the library asks of a WebSocket: it is called with the request, and then asked to wait, send and close.

    `transport` is the connection beneath, once there is one.
    """

    def __init__(self, handler: Callable[["WebSocket"], Awaitable[None]], clock: Clock, limits: Limits) -> None:
        self._handler, self._clock, self._limits = handler, clock, limits
        self._socket: web.WebSocketResponse | None = None
        self._ended = asyncio.Event()
        self._countdown: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None

    async def __call__(self, environ: Environ) -> web.WebSocketResponse:
        """Serve one WebSocket to its end."""
        request: web.Request = environ["aiohttp.request"]
        # Not compressed: that costs 250 kB a connection, and time at every chunk.
        socket = self._socket = web.WebSocketResponse(
            max_msg_size=self._limits.packet_bytes,
            compress=False,
            autoclose=False,
            timeout=self._limits.closing_seconds,
            writer_limit=self._limits.handed_bytes,
        )
        await socket.prepare(request)
        self.transport = request.transport
        try:
            await self._handler(self)
        finally:
            self._ended.set()
        return socket

    async def wait(self) -> str | bytes:
        """The next message. Raises OSError when there is none: closed, too large, or no packet."""
        assert self._socket is not None
        data: object = None
        try:
            message = await self._socket.receive()
            if message.type in (web.WSMsgType.TEXT, web.WSMsgType.BINARY):
                data = message.data
        finally:
            if not (isinstance(data, str | bytes) and is_frame(data)):
                self.finish()  # before anything is said, for which a client that does not read would have to wait
        if isinstance(data, str | bytes):
            if is_frame(data):
                return data
            await self._socket.close(code=NO_PACKET, message=b"this is no Engine.IO packet")
        raise OSError("the connection has ended")

    async def send(self, message: str | bytes) -> None:
        """Hand a message to the connection; waits while the client does not take what it was sent before."""
        assert self._socket is not None
        if isinstance(message, bytes):
            await self._socket.send_bytes(message)
        else:
            await self._socket.send_str(message)

    async def close(self) -> None:
        """Say goodbye."""
        assert self._socket is not None
        self.finish()
        await self._socket.close()

    def finish(self) -> None:
        """From now on it has `closing_seconds` to end by itself."""
        if self._countdown is None and not self._ended.is_set():
            self._countdown = asyncio.create_task(self._cut_off())

    def abort(self) -> None:
        """End it now, whatever has not been sent."""
        if self.transport is not None:
            self.transport.abort()

    async def ended(self) -> None:
        """Return when nothing of it is left."""
        await self._ended.wait()
        if self._countdown is not None:
            await self._countdown

    async def _cut_off(self) -> None:
        try:
            async with self._clock.timeout(self._limits.closing_seconds):
                await self._ended.wait()
        except TimeoutError:
            self.abort()


async def environ_of(request: web.Request, limits: Limits) -> Environ:
    """The request as the library wants it, with the address it came from, and its whole body.

    Raises HTTPRequestEntityTooLarge, HTTPBadRequest.
    """
    environ: Environ = _environ_of(request)
    environ["REMOTE_ADDR"] = request.remote or ""
    if "j" in request.query:  # JSONP: its answers are read by any page, whatever the Origin
        raise _refused("input", "JSONP is not spoken here")
    if request.method == "POST":
        body = await _body(request, limits.packet_bytes)
        if problem := payload_problem(body):
            raise _refused("malformed", problem)
        environ["CONTENT_LENGTH"] = str(len(body))
        environ["wsgi.input"] = Body(body)
    return environ


async def _body(request: web.Request, most: int) -> bytes:
    content = bytearray()
    if (request.content_length or 0) <= most:
        async for piece in request.content.iter_any():
            content += piece
            if len(content) > most:
                break
        else:
            return bytes(content)
    failure = Failure("too_large", f"a request has at most {most:,} bytes", 413)
    raise web.HTTPRequestEntityTooLarge(most, text=encoded(failure.to_json()), content_type="application/json")


def _refused(code: str, message: str) -> web.HTTPBadRequest:
    return web.HTTPBadRequest(text=encoded(Failure(code, message).to_json()), content_type="application/json")
