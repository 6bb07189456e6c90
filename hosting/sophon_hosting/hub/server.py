"""Socket.IO server on python-socketio; uses the library's transports, handshake and connection tables only.

The library's event dispatch is bypassed: there, an exception, an unknown event or an unreadable payload means that the
client never receives an acknowledgement. Its `emit` is bypassed too, because it is unbounded. Both require overriding
private methods of the library; tests/hosting/hub/test_library.py fails when a release changes them.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Protocol, cast

import engineio  # type: ignore[import-untyped]
import engineio.packet  # type: ignore[import-untyped]
import socketio  # type: ignore[import-untyped]
import socketio.packet  # type: ignore[import-untyped]
from aiohttp import web

from sophon.clock import Clock
from sophon_hosting.failures import Failure
from sophon_hosting.hub.limits import Limits
from sophon_hosting.hub.origins import may_connect
from sophon_hosting.hub.transport import Environ, WebSocket, environ_of

# Neither library is typed; everything that other modules import from this one is.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
_EngineServer: Any = engineio.AsyncServer
_SocketServer: Any = socketio.AsyncServer
_EnginePacket: Any = engineio.packet.Packet
_MESSAGE: int = engineio.packet.MESSAGE
_CONNECT_ERROR: int = socketio.packet.CONNECT_ERROR


class Refused(Exception):
    """The hub refuses to connect a client to a namespace; `failure` is the error for the client."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.message)


class Reception(Protocol):
    """Callbacks of the Socket.IO server: connections, messages, namespace connects, outgoing packets."""

    def refusal(self, address: str) -> Failure | None:
        """Return the failure for a new connection from this address; None if it is accepted."""
        ...

    def opened(self, connection_id: str, address: str) -> None:
        """Register a new connection; it is not authenticated yet."""
        ...

    async def received(self, connection_id: str, message: str | bytes) -> None:
        """Process one Engine.IO message of a connection."""
        ...

    def closed(self, connection_id: str) -> None:
        """Remove a closed connection; all its clients have been disconnected before."""
        ...

    def entered(self, connection_id: str, client_id: str, namespace: str, auth: object) -> None:
        """Authenticate a client and connect it to a namespace. Raises `Refused`."""
        ...

    def left(self, client_id: str) -> None:
        """Remove a client that disconnected from its namespace."""
        ...

    def sent(self, connection_id: str, text: str) -> None:
        """Send a packet of the server to a connection."""
        ...


class EngineLine:
    """One Engine.IO connection: its send queue and how to close it. It survives the upgrade to WebSocket."""

    def __init__(self, engine: "Engine", connection_id: str) -> None:
        self._engine, self._id = engine, connection_id
        self._socket: Any = engine.sockets[connection_id]
        self.queue: asyncio.Queue[Any] = self._socket.queue

    @property
    def polls(self) -> bool:
        """Whether the connection uses HTTP long-polling, not WebSocket."""
        return not self._socket.upgraded

    def unsent(self) -> int:
        """Return the number of bytes in the socket's write buffer; 0 for a polling client, where it is unknown."""
        websocket = self._engine.websockets.get(self._id)
        transport = websocket.transport if websocket else None
        return transport.get_write_buffer_size() if transport else 0

    async def close(self) -> None:
        """Close the connection; `Reception.closed` follows. Sends no Socket.IO disconnect packet: after one, JavaScript
        clients would not reconnect, whereas they treat this as a transport error.
        """
        await self._socket.close(wait=False, abort=True, reason=self._engine.reason.SERVER_DISCONNECT)

    def end(self) -> None:
        """Release everything kept for the closed connection."""
        self._engine.forget(self._id, self.queue)


class Engine(_EngineServer):  # type: ignore[misc]
    """Engine.IO server that uses the WebSocket transport and the request reader of this package."""

    def __init__(self, *, clock: Clock, limits: Limits, callbacks: Reception, **options: Any) -> None:
        super().__init__(**options)
        self._clock, self._limits, self._callbacks = clock, limits, callbacks
        self._async: dict[str, Any] = {**self._async, "websocket": self._websocket, "translate_request": self._environ}
        self._pings: dict[str, asyncio.Task[None]] = {}
        self.websockets: dict[str, WebSocket] = {}

    async def handle_request(self, request: web.Request) -> web.StreamResponse:
        """Serve one HTTP request; a request for a new connection is subject to `Reception.refusal`."""
        failure = None if "sid" in request.query else self._callbacks.refusal(request.remote or "")
        if failure is not None:
            return web.json_response(failure.to_json(), status=failure.status)
        return cast(web.StreamResponse, await super().handle_request(request))

    def start_background_task(self, target: Callable[..., Any], *args: Any, **kwargs: Any) -> "asyncio.Task[None]":
        """Start a background task, and track the ping task of each connection in order to cancel it.

        The library's ping task sleeps up to 25 s after the connection has closed, and keeps the connection in memory.
        """
        task: asyncio.Task[None] = super().start_background_task(target, *args, **kwargs)
        connection_id = getattr(getattr(target, "__self__", None), "sid", None)
        if connection_id is not None:
            self._pings[connection_id] = task
            task.add_done_callback(partial(self._discard_ping, connection_id))
        return task

    def forget(self, connection_id: str, queue: "asyncio.Queue[Any]") -> None:
        """Remove a closed connection, cancel its ping, and stop its reader and its writer."""
        self.sockets.pop(connection_id, None)
        if connection_id in self._pings:
            self._pings[connection_id].cancel()
        # None stops the writer. No Engine.IO close packet: after one, Python clients would not reconnect.
        queue.put_nowait(None)
        websocket = self.websockets.get(connection_id)
        if websocket is not None:
            websocket.finish()

    def _discard_ping(self, connection_id: str, task: "asyncio.Task[None]") -> None:
        if self._pings.get(connection_id) is task:
            del self._pings[connection_id]

    def _websocket(self, handler: Any, _engine: object) -> Callable[[Environ], Any]:
        connection_id: str = handler.__self__.sid
        websocket = WebSocket(handler, self._clock, self._limits)

        async def serve(environ: Environ) -> web.StreamResponse:
            self.websockets[connection_id] = websocket
            try:
                return await websocket(environ)
            finally:
                if self.websockets.get(connection_id) is websocket:
                    del self.websockets[connection_id]

        return serve

    async def _environ(self, request: web.Request) -> Environ:
        return await environ_of(request, self._limits)


class SocketServer(_SocketServer):  # type: ignore[misc]
    """Socket.IO server of a hub, which provides the callbacks."""

    def __init__(
        self,
        callbacks: Reception,
        *,
        clock: Clock,
        limits: Limits,
        namespaces: Collection[str],
        origins: Collection[str],
    ) -> None:
        library_log = logging.getLogger("sophon.hub.library")
        # At INFO the libraries log every packet, including tokens; without a logger they configure global logging.
        library_log.setLevel(logging.WARNING)
        super().__init__(
            async_mode="aiohttp",
            async_handlers=False,
            namespaces=list(namespaces),
            # Never a list: the library reads an empty list as "any origin".
            cors_allowed_origins=partial(_is_allowed, origins),
            max_http_buffer_size=limits.packet_bytes,
            logger=library_log,
            engineio_logger=library_log,
            clock=clock,
            limits=limits,
            callbacks=callbacks,
        )
        self._callbacks = callbacks
        self._known_namespaces = frozenset(namespaces)

    def serve(self, app: web.Application) -> None:
        """Add the route `/socket.io/` to an application."""
        self.attach(app)

    def line(self, connection_id: str) -> EngineLine:
        """Return an open connection."""
        return EngineLine(self.eio, connection_id)

    async def enter(self, connection_id: str, namespace: str, auth: object) -> None:
        """Connect a client to a namespace, or send it a CONNECT_ERROR packet."""
        if namespace not in self._known_namespaces:
            known = " and ".join(sorted(self._known_namespaces))
            message = f"unknown namespace {namespace[:100]!r}; known namespaces: {known}"
            data = {"message": "unknown_namespace", "data": {"code": "unknown_namespace", "message": message}}
            error_packet = self.packet_class(_CONNECT_ERROR, data=data, namespace=namespace)
            self._callbacks.sent(connection_id, error_packet.encode())
            return
        await self._handle_connect(connection_id, namespace, auth)

    async def leave(self, connection_id: str, namespace: str) -> None:
        """Disconnect a client from a namespace."""
        await self._handle_disconnect(connection_id, namespace)

    async def aclose(self) -> None:
        """Wait until every connection has ended, and cancel the library's service task. Close the connections first."""
        await asyncio.gather(*(websocket.ended() for websocket in list(self.eio.websockets.values())))
        service_task, self.eio.service_task_handle = self.eio.service_task_handle, None
        if service_task is not None:
            service_task.cancel()
            await asyncio.gather(service_task, return_exceptions=True)
        self.eio.start_service_task = True

    def _engineio_server_class(self) -> type[Engine]:
        return Engine

    async def _handle_eio_connect(self, connection_id: str, environ: Environ) -> None:
        await super()._handle_eio_connect(connection_id, environ)
        self._callbacks.opened(connection_id, environ["REMOTE_ADDR"])

    async def _handle_eio_message(self, connection_id: str, message: str | bytes) -> None:
        await self._callbacks.received(connection_id, message)

    async def _handle_eio_disconnect(self, connection_id: str, reason: str) -> None:
        await super()._handle_eio_disconnect(connection_id, reason)
        self._callbacks.closed(connection_id)

    async def _trigger_event(self, event: str, namespace: str, *args: Any) -> None:
        client_id: str = args[0]
        if event == "disconnect":
            self._callbacks.left(client_id)
            return
        connection_id = self.manager.eio_sid_from_sid(client_id, namespace)
        try:
            # `auth` is always accepted: the library retries a handler that lacks the parameter.
            self._callbacks.entered(connection_id, client_id, namespace, args[2] if len(args) > 2 else None)
        except Refused as refused:
            failure = refused.failure
            details = failure.to_json()["error"]
            raise socketio.exceptions.ConnectionRefusedError(failure.code, details) from refused

    async def _send_packet(self, connection_id: str, packet: Any) -> None:
        self._callbacks.sent(connection_id, packet.encode())


def message_of(text: str) -> object:
    """Wrap the text of a Socket.IO packet in an Engine.IO message."""
    return _EnginePacket(_MESSAGE, data=text)


def _is_allowed(allowed: Collection[str], origin: str | None, environ: Environ) -> bool:
    return may_connect(origin, environ, allowed)
