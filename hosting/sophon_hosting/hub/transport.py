"""Engine.IO transports over aiohttp, WebSocket and polling: invalid packets are rejected before the library sees them,
and every connection ends within a time limit.

Replaces these parts of python-engineio 4.15: its body reader for polling requests returns the first TCP segment only;
its WebSocket raises on an invalid packet and leaks the connection; and a WebSocket whose client has stopped reading
never closes, because its writer waits without a timeout.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

# The library is not typed.
import engineio.async_drivers.aiohttp as driver  # type: ignore[import-untyped]
from aiohttp import web

from sophon.clock import Clock
from sophon_hosting.events.frame import encoded
from sophon_hosting.failures import Failure
from sophon_hosting.hub.frames import is_frame, payload_problem
from sophon_hosting.hub.limits import Limits

NO_PACKET = 1008
"""WebSocket close code for data that is not an Engine.IO packet. Source: RFC 6455, policy violation."""

_environ_of: Any = cast(Any, driver).translate_request

Environ: TypeAlias = dict[str, Any]


class Body:
    """A request body that has been read completely; `wsgi.input` of the environ."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def read(self, _length: int) -> bytes:
        """Return the whole body."""
        return self._content


class WebSocket:
    """WebSocket of one Engine.IO connection, with the interface that the library expects: call, wait, send, close.

    `transport` is the TCP transport; None before the handshake.
    """

    def __init__(self, handler: Callable[["WebSocket"], Awaitable[None]], clock: Clock, limits: Limits) -> None:
        self._handler, self._clock, self._limits = handler, clock, limits
        self._socket: web.WebSocketResponse | None = None
        self._ended = asyncio.Event()
        self._countdown: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None

    async def __call__(self, environ: Environ) -> web.WebSocketResponse:
        """Accept the WebSocket and serve it until it closes."""
        request: web.Request = environ["aiohttp.request"]
        # Not compressed: compression costs 250 kB per connection, and time for every chunk.
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
        """Return the next message. Raises OSError if the socket closed or the message is too large or no packet."""
        assert self._socket is not None
        data: object = None
        try:
            message = await self._socket.receive()
            if message.type in (web.WSMsgType.TEXT, web.WSMsgType.BINARY):
                data = message.data
        finally:
            if not (isinstance(data, str | bytes) and is_frame(data)):
                self.finish()  # before the close frame: sending it blocks while the client does not read
        if isinstance(data, str | bytes):
            if is_frame(data):
                return data
            await self._socket.close(code=NO_PACKET, message=b"not an Engine.IO packet")
        raise OSError("the connection has ended")

    async def send(self, message: str | bytes) -> None:
        """Write a message; waits while the write buffer is full."""
        assert self._socket is not None
        if isinstance(message, bytes):
            await self._socket.send_bytes(message)
        else:
            await self._socket.send_str(message)

    async def close(self) -> None:
        """Send a close frame and wait for the client's."""
        assert self._socket is not None
        self.finish()
        await self._socket.close()

    def finish(self) -> None:
        """Start the timeout of `Limits.closing_seconds`, after which the connection is aborted."""
        if self._countdown is None and not self._ended.is_set():
            self._countdown = asyncio.create_task(self._abort_after_timeout())

    def abort(self) -> None:
        """Close the TCP connection now and drop unsent data."""
        if self.transport is not None:
            self.transport.abort()

    async def ended(self) -> None:
        """Return when the socket has closed and its timeout task has ended."""
        await self._ended.wait()
        if self._countdown is not None:
            await self._countdown

    async def _abort_after_timeout(self) -> None:
        try:
            async with self._clock.timeout(self._limits.closing_seconds):
                await self._ended.wait()
        except TimeoutError:
            self.abort()


async def environ_of(request: web.Request, limits: Limits) -> Environ:
    """Return the WSGI environ of a request, with its remote address and its complete body.

    Raises HTTPRequestEntityTooLarge, HTTPBadRequest.
    """
    environ: Environ = _environ_of(request)
    environ["REMOTE_ADDR"] = request.remote or ""
    if "j" in request.query:  # JSONP responses can be read by any page, regardless of Origin
        raise _bad_request("input", "JSONP is not supported")
    if request.method == "POST":
        body = await _read_body(request, limits.packet_bytes)
        if problem := payload_problem(body):
            raise _bad_request("malformed", problem)
        environ["CONTENT_LENGTH"] = str(len(body))
        environ["wsgi.input"] = Body(body)
    return environ


async def _read_body(request: web.Request, max_bytes: int) -> bytes:
    content = bytearray()
    if (request.content_length or 0) <= max_bytes:
        async for chunk in request.content.iter_any():
            content += chunk
            if len(content) > max_bytes:
                break
        else:
            return bytes(content)
    failure = Failure("too_large", f"the request body is larger than {max_bytes:,} bytes", 413)
    raise web.HTTPRequestEntityTooLarge(max_bytes, text=encoded(failure.to_json()), content_type="application/json")


def _bad_request(code: str, message: str) -> web.HTTPBadRequest:
    return web.HTTPBadRequest(text=encoded(Failure(code, message).to_json()), content_type="application/json")
