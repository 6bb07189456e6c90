"""Engine.IO transports over aiohttp, WebSocket and polling: invalid packets are rejected before the library sees them,
and every connection ends within a time limit.

Replaces these parts of python-engineio 4.15: its body reader for polling requests returns the first TCP segment only;
its WebSocket raises on an invalid packet and leaks the connection; and a WebSocket whose client has stopped reading
never closes, because its writer waits without a timeout.
"""

import asyncio
import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast

# The library is not typed.
import engineio.async_drivers.aiohttp as driver  # type: ignore[import-untyped]
import engineio.packet  # type: ignore[import-untyped]
from aiohttp import WSCloseCode, web

from sophon.clock import Clock
from sophon_hosting.client_api.client_errors import ErrorPayload
from sophon_hosting.hub.limits import HubLimits
from sophon_hosting.json_text import encode_json

POLICY_VIOLATION = 1008
"""WebSocket close code for data that is not an Engine.IO packet. Source: RFC 6455, policy violation."""

MESSAGE_TYPE = "4"
"""Engine.IO packet type of a message."""

_environ_of: Any = cast(Any, driver).translate_request

WsgiEnviron: TypeAlias = dict[str, Any]

MAX_PACKETS_PER_PAYLOAD = 16
"""Maximum number of packets in one polling payload. Source: Engine.IO client and server libraries."""

_WEBSOCKET_PACKET = re.compile(r"4[0-9].*|[156]|[23](probe)?", re.DOTALL)

_POLLING_PACKET = re.compile(r"4[0-9].*|[13]", re.DOTALL)
"""A polling client sends neither pings nor upgrades; on a ping the library would wait forever."""

_SEPARATOR = "\x1e"

_MESSAGE: int = engineio.packet.MESSAGE  # pyright: ignore[reportUnknownMemberType] - the library is not typed


class BufferedBody:
    """A request body that has been read completely; `wsgi.input` of the environ."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def read(self, _length: int) -> bytes:
        """Return the whole body."""
        return self._content


class _BoundedSocket(web.WebSocketResponse):
    """WebSocket that sends why before it closes with 1009 (message too big), which aiohttp does by itself.

    `explain` returns the messages, and the reason of the close frame.
    """

    def __init__(self, explain: Callable[[], tuple[Sequence[str], bytes]], **options: Any) -> None:
        super().__init__(**options)
        self._explain = explain

    async def close(self, *, code: int = WSCloseCode.OK, message: bytes = b"", drain: bool = True) -> bool:
        if code == WSCloseCode.MESSAGE_TOO_BIG and not self.closed:
            texts, message = self._explain()
            for text in texts:
                await self.send_str(text)
        return await super().close(code=code, message=message, drain=drain)


class TextMessage:
    """Message in Engine.IO's send queue, in place of the library's packet.

    The library's packet keeps the text twice as a string, and its WebSocket encodes it anew for every connection.
    """

    __slots__ = ("encoded",)

    packet_type = _MESSAGE
    binary = False

    def __init__(self, text: str) -> None:
        self.encoded = f"{_MESSAGE}{text}".encode("utf-8", "replace")
        """The message as a WebSocket sends it, in UTF-8."""

    def encode(self, b64: bool = False) -> "TextMessage | str":
        """Return the message for `EngineWebSocket.send`; with `b64`, which the polling transport sets, as text."""
        return self.encoded.decode() if b64 else self

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.encoded.__sizeof__()


class EngineWebSocket:
    """WebSocket of one Engine.IO connection, with the interface that the library expects: call, wait, send, close.

    `transport` is the TCP transport; None before the handshake. `on_lost` is called when a message cannot be written:
    the reader, which waits while a request does, would not notice. `build_refusals` returns the Socket.IO packets that
    refuse a message which is too large.
    """

    def __init__(
        self,
        handler: Callable[["EngineWebSocket"], Awaitable[None]],
        clock: Clock,
        limits: HubLimits,
        on_lost: Callable[[], None],
        build_refusals: Callable[[ErrorPayload], Sequence[str]],
    ) -> None:
        self._handler, self._clock, self._limits, self._on_lost = handler, clock, limits, on_lost
        self._build_refusals = build_refusals
        self._socket: web.WebSocketResponse | None = None
        self._ended = asyncio.Event()
        self._close_timeout: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None

    async def __call__(self, environ: WsgiEnviron) -> web.WebSocketResponse:
        """Accept the WebSocket and serve it until it closes."""
        request: web.Request = environ["aiohttp.request"]
        # Not compressed: compression costs 250 kB per connection, and time for every chunk.
        socket = self._socket = _BoundedSocket(
            self._refuse_large_message,
            max_msg_size=self._limits.max_packet_bytes,
            compress=False,
            autoclose=False,
            timeout=self._limits.close_timeout_seconds,
            writer_limit=self._limits.max_in_flight_bytes,
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
            if not (isinstance(data, str | bytes) and is_engineio_packet(data)):
                self.start_close_timeout()  # before the close frame: sending it blocks while the client does not read
        if isinstance(data, str | bytes):
            if is_engineio_packet(data):
                return data
            await self._socket.close(code=POLICY_VIOLATION, message=b"not an Engine.IO packet")
        raise OSError("the connection has ended")

    async def send(self, message: TextMessage | str | bytes) -> None:
        """Write a message; waits while the write buffer is full. Raises when the connection is lost meanwhile."""
        try:
            await self._write(message)
        except Exception:
            self._on_lost()
            raise

    async def _write(self, message: TextMessage | str | bytes) -> None:
        assert self._socket is not None
        if isinstance(message, TextMessage):
            await self._socket.send_frame(message.encoded, web.WSMsgType.TEXT)
        elif isinstance(message, bytes):
            await self._socket.send_bytes(message)
        else:
            await self._socket.send_str(message)

    async def close(self) -> None:
        """Send a close frame and wait for the client's."""
        assert self._socket is not None
        self.start_close_timeout()
        await self._socket.close()

    def start_close_timeout(self) -> None:
        """Start the timeout of `HubLimits.close_timeout_seconds`, after which the connection is aborted."""
        if self._close_timeout is None and not self._ended.is_set():
            self._close_timeout = asyncio.create_task(self._abort_after_timeout())

    def abort(self) -> None:
        """Close the TCP connection now and drop unsent data."""
        if self.transport is not None:
            self.transport.abort()

    async def wait_closed(self) -> None:
        """Return when the socket has closed and its timeout task has ended."""
        await self._ended.wait()
        if self._close_timeout is not None:
            await self._close_timeout

    def _refuse_large_message(self) -> tuple[Sequence[str], bytes]:
        self.start_close_timeout()  # sending blocks while the client does not read
        failure = ErrorPayload("too_large", f"the packet is larger than {self._limits.max_packet_bytes:,} bytes", 413)
        texts = [f"{MESSAGE_TYPE}{packet}" for packet in self._build_refusals(failure)]
        return texts, f"{failure.code}: {failure.message}".encode()

    async def _abort_after_timeout(self) -> None:
        try:
            async with self._clock.timeout(self._limits.close_timeout_seconds):
                await self._ended.wait()
        except TimeoutError:
            self.abort()


async def build_environ(request: web.Request, limits: HubLimits) -> WsgiEnviron:
    """Return the WSGI environ of a request, with its complete body.

    Raises HTTPRequestEntityTooLarge, HTTPBadRequest.
    """
    environ: WsgiEnviron = _environ_of(request)
    if "j" in request.query:  # JSONP responses can be read by any page, regardless of Origin
        raise _bad_request("input", "JSONP is not supported")
    if request.method == "POST":
        body = await _read_body(request, limits.max_packet_bytes)
        if problem := find_payload_problem(body):
            raise _bad_request("malformed", problem)
        environ["CONTENT_LENGTH"] = str(len(body))
        environ["wsgi.input"] = BufferedBody(body)
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
    failure = ErrorPayload("too_large", f"the request body is larger than {max_bytes:,} bytes", 413)
    raise web.HTTPRequestEntityTooLarge(max_bytes, text=encode_json(failure.to_json()), content_type="application/json")


def _bad_request(code: str, message: str) -> web.HTTPBadRequest:
    return web.HTTPBadRequest(text=encode_json(ErrorPayload(code, message).to_json()), content_type="application/json")


def is_engineio_packet(message: str | bytes) -> bool:
    """Return whether a WebSocket message is a packet; a binary one is always accepted, as an attachment.

    Source: Engine.IO protocol, revision 4: a digit for the type (1 close, 2 ping, 3 pong, 4 message, 5 upgrade, 6
    noop), then data; here, a message is a Socket.IO packet. A polling payload joins up to 16 packets with the character
    0x1E; a binary packet is `b` followed by base64.
    """
    return isinstance(message, bytes) or _WEBSOCKET_PACKET.fullmatch(message) is not None


def find_payload_problem(body: bytes) -> str:
    """Return why the body of a polling request is invalid; empty if it is valid."""
    try:
        packets = body.decode().split(_SEPARATOR)
    except UnicodeDecodeError:
        return "the body is not UTF-8"
    if len(packets) > MAX_PACKETS_PER_PAYLOAD:
        return f"the request contains {len(packets)} packets; at most {MAX_PACKETS_PER_PAYLOAD} are allowed"
    if not all(
        _is_attachment(packet) if packet[:1] == "b" else _POLLING_PACKET.fullmatch(packet) for packet in packets
    ):
        return "not an Engine.IO packet"
    return ""


def _is_attachment(packet: str) -> bool:
    try:
        base64.b64decode(packet[1:], validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
