"""Socket.IO server on python-socketio; uses the library's transports, handshake and connection tables only.

The library's event dispatch is bypassed: there, an exception, an unknown event or an unreadable payload means that the
client never receives an acknowledgement. Its `emit` is bypassed too, because it is unbounded. Both require overriding
private methods of the library; tests/hosting/hub/protocol/test_library_assumptions.py fails when a release changes
them.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Protocol, cast

import engineio  # type: ignore[import-untyped]
import socketio  # type: ignore[import-untyped]
import socketio.packet  # type: ignore[import-untyped]
from aiohttp import web

from sophon.clock import Clock
from sophon_hosting.client_api.allowed_origins import (
    REFUSED_ORIGIN_MESSAGE,
    are_allowed_origins,
    is_allowed_origin,
)
from sophon_hosting.client_api.client_address import TrustedProxies
from sophon_hosting.client_api.client_errors import ErrorPayload
from sophon_hosting.hub.limits import HubLimits
from sophon_hosting.hub.protocol.engineio_transport import EngineWebSocket, WsgiEnviron, build_environ
from sophon_hosting.json_text import encode_json

# Neither library is typed; everything that other modules import from this one is.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
_EngineServer: Any = engineio.AsyncServer
_SocketServer: Any = socketio.AsyncServer
_CONNECT_ERROR: int = socketio.packet.CONNECT_ERROR


class HubConnectionRefused(Exception):
    """The hub refuses to connect a client to a namespace; `payload` is the error for the client."""

    def __init__(self, payload: ErrorPayload) -> None:
        self.payload = payload
        super().__init__(payload.message)


class SocketServerCallbacks(Protocol):
    """Callbacks of the Socket.IO server: connections, messages, namespace connects, outgoing packets."""

    def check_admission(self) -> ErrorPayload | None:
        """Return the failure for a new connection; None if it is accepted."""
        ...

    def on_connection_opened(self, connection_id: str, address: str) -> None:
        """Register a new connection; it is not authenticated yet."""
        ...

    async def on_message(self, connection_id: str, message: str | bytes) -> None:
        """Process one Engine.IO message of a connection."""
        ...

    def on_transport_lost(self, connection_id: str) -> None:
        """End what waits for the client of a connection to read; `on_connection_closed` follows."""
        ...

    def build_refusals(self, connection_id: str, failure: ErrorPayload) -> Sequence[str]:
        """Return the packets that report a failure to all clients of a connection."""
        ...

    def on_connection_closed(self, connection_id: str) -> None:
        """Remove a closed connection; all its clients have been disconnected before."""
        ...

    async def on_namespace_connect(self, connection_id: str, client_id: str, namespace: str, auth: object) -> None:
        """Authenticate a client and connect it to a namespace. Raises `HubConnectionRefused`."""
        ...

    def on_namespace_disconnect(self, client_id: str) -> None:
        """Remove a client that disconnected from its namespace."""
        ...

    def send_packet(self, connection_id: str, text: str) -> None:
        """Send a packet of the server to a connection."""
        ...


class EngineConnection:
    """One Engine.IO connection: its send queue and how to close it. It survives the upgrade to WebSocket."""

    def __init__(self, engine: "EngineServer", connection_id: str) -> None:
        self._engine, self._id = engine, connection_id
        self._socket: Any = engine.sockets[connection_id]
        self.queue: asyncio.Queue[Any] = self._socket.queue

    @property
    def is_polling(self) -> bool:
        """Whether the connection uses HTTP long-polling, not WebSocket."""
        return not self._socket.upgraded

    def unsent_bytes(self) -> int:
        """Return the number of bytes in the socket's write buffer; 0 for a polling client, where it is unknown."""
        websocket = self._engine.websockets.get(self._id)
        transport = websocket.transport if websocket else None
        return transport.get_write_buffer_size() if transport else 0

    def record_activity(self) -> None:
        """Record a message as a sign of life: the pong of the client may stand behind more of them."""
        if self._socket.last_ping:
            self._socket.last_ping = time.time()

    def watch_ping(self, has_waiting_request: Callable[[], bool]) -> None:
        """Judge the client by what it reads, not by its pong, while requests wait or data is being written.

        The reader does not get to the pong while a request waits, and the ping stands behind the data. Then
        `HubLimits.stall_timeout_seconds` limits the time in which the client reads nothing.
        """
        check, unsent = self._socket.check_ping_timeout, 0

        async def check_ping_timeout() -> bool:
            nonlocal unsent
            before, unsent = unsent, self.unsent_bytes()
            if has_waiting_request() or unsent < before:
                self.record_activity()
            return cast(bool, await check())

        self._socket.check_ping_timeout = check_ping_timeout

    async def close(self) -> None:
        """Close the connection; `SocketServerCallbacks.on_connection_closed` follows. Sends no Socket.IO disconnect
        packet: after one, JavaScript clients would not reconnect, whereas they treat this as a transport error.
        """
        await self._socket.close(wait=False, abort=True, reason=self._engine.reason.SERVER_DISCONNECT)

    def dispose(self) -> None:
        """Release everything kept for the closed connection."""
        self._engine.remove_connection(self._id, self.queue)


OVERLAPPING_POLL_MESSAGE = "this connection is being polled already"


class EngineServer(_EngineServer):  # type: ignore[misc]
    """Engine.IO server that uses the WebSocket transport and the request reader of this package."""

    def __init__(
        self,
        *,
        clock: Clock,
        limits: HubLimits,
        callbacks: SocketServerCallbacks,
        proxies: TrustedProxies,
        origins: Collection[str],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._clock, self._limits, self._callbacks, self._proxies = clock, limits, callbacks, proxies
        self._origins = origins
        self._async: dict[str, Any] = {**self._async, "websocket": self._websocket, "translate_request": self._environ}
        self._ping_tasks: dict[str, asyncio.Task[None]] = {}
        self.websockets: dict[str, EngineWebSocket] = {}
        self._polling: set[str] = set()

    async def handle_request(self, request: web.Request) -> web.StreamResponse:
        """Serve one HTTP request; a request for a new connection is subject to
        `SocketServerCallbacks.check_admission`.
        """
        # Before the library: it skips an empty Origin header and answers 400.
        if not are_allowed_origins(request.headers, self._origins):
            return web.json_response(ErrorPayload("forbidden", REFUSED_ORIGIN_MESSAGE).to_json(), status=403)
        failure = None if "sid" in request.query else self._callbacks.check_admission()
        if failure is not None:
            return web.json_response(failure.to_json(), status=failure.status)
        connection_id = request.query.get("sid", "")
        if not connection_id or request.method != "GET" or request.query.get("transport") != "polling":
            return cast(web.StreamResponse, await super().handle_request(request))
        # Engine.IO has one poll at a time; each further one would occupy a connection that no limit counts.
        if connection_id in self._polling:
            return web.json_response(ErrorPayload("invalid", OVERLAPPING_POLL_MESSAGE, 400).to_json(), status=400)
        self._polling.add(connection_id)
        try:
            return cast(web.StreamResponse, await super().handle_request(request))
        finally:
            self._polling.discard(connection_id)

    def start_background_task(self, target: Callable[..., Any], *args: Any, **kwargs: Any) -> "asyncio.Task[None]":
        """Start a background task, and track the ping task of each connection in order to cancel it.

        The library's ping task sleeps up to 25 s after the connection has closed, and keeps the connection in memory.
        """
        task: asyncio.Task[None] = super().start_background_task(target, *args, **kwargs)
        connection_id = getattr(getattr(target, "__self__", None), "sid", None)
        if connection_id is not None:
            self._ping_tasks[connection_id] = task
            task.add_done_callback(partial(self._discard_ping, connection_id))
        return task

    def remove_connection(self, connection_id: str, queue: "asyncio.Queue[Any]") -> None:
        """Remove a closed connection, cancel its ping, and stop its reader and its writer."""
        self.sockets.pop(connection_id, None)
        if connection_id in self._ping_tasks:
            self._ping_tasks[connection_id].cancel()
        # None stops the writer. No Engine.IO close packet: after one, Python clients would not reconnect.
        queue.put_nowait(None)
        websocket = self.websockets.get(connection_id)
        if websocket is not None:
            websocket.start_close_timeout()

    def _discard_ping(self, connection_id: str, task: "asyncio.Task[None]") -> None:
        if self._ping_tasks.get(connection_id) is task:
            del self._ping_tasks[connection_id]

    def _websocket(self, handler: Any, _engine: object) -> Callable[[WsgiEnviron], Any]:
        engine_socket: Any = handler.__self__
        connection_id: str = engine_socket.sid

        def on_lost() -> None:
            if engine_socket.upgraded:  # until then the connection lives by polling
                self._callbacks.on_transport_lost(connection_id)

        refusals = partial(self._callbacks.build_refusals, connection_id)
        websocket = EngineWebSocket(handler, self._clock, self._limits, on_lost, refusals)

        async def serve(environ: WsgiEnviron) -> web.StreamResponse:
            self.websockets[connection_id] = websocket
            try:
                return await websocket(environ)
            finally:
                if self.websockets.get(connection_id) is websocket:
                    del self.websockets[connection_id]
                    # The library leaves this set when the WebSocket breaks before its probe; while it is set, polling
                    # receives nothing but NOOP packets, at once.
                    engine_socket.upgrading = False

        return serve

    def _bad_request(self, message: str | None = None) -> dict[str, Any]:
        return _json_error("400 BAD REQUEST", ErrorPayload("input", message or "the request is not valid Engine.IO"))

    def _unauthorized(self, message: str | None = None) -> dict[str, Any]:
        return _json_error("401 UNAUTHORIZED", ErrorPayload("unauthorized", message or "the connection is refused"))

    async def _environ(self, request: web.Request) -> WsgiEnviron:
        environ = await build_environ(request, self._limits)
        environ["REMOTE_ADDR"] = self._proxies.client_address(request)
        return environ


class SocketServer(_SocketServer):  # type: ignore[misc]
    """Socket.IO server of a hub, which provides the callbacks."""

    def __init__(
        self,
        callbacks: SocketServerCallbacks,
        *,
        clock: Clock,
        limits: HubLimits,
        namespaces: Collection[str],
        origins: Collection[str],
        proxies: TrustedProxies,
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
            max_http_buffer_size=limits.max_packet_bytes,
            logger=library_log,
            engineio_logger=library_log,
            clock=clock,
            limits=limits,
            callbacks=callbacks,
            proxies=proxies,
            origins=origins,
        )
        self._callbacks = callbacks
        self._known_namespaces = frozenset(namespaces)

    def attach_to(self, app: web.Application) -> None:
        """Add the route `/socket.io/` to an application."""
        self.attach(app)

    def engine_connection(self, connection_id: str) -> EngineConnection:
        """Return an open connection."""
        return EngineConnection(self.eio, connection_id)

    async def connect_namespace(self, connection_id: str, namespace: str, auth: object) -> None:
        """Connect a client to a namespace, or send it a CONNECT_ERROR packet."""
        if namespace not in self._known_namespaces:
            known = " and ".join(sorted(self._known_namespaces))
            message = f"unknown namespace {namespace[:100]!r}; known namespaces: {known}"
            data = {"message": "unknown_namespace", "data": {"code": "unknown_namespace", "message": message}}
            error_packet = self.packet_class(_CONNECT_ERROR, data=data, namespace=namespace)
            self._callbacks.send_packet(connection_id, error_packet.encode())
            return
        await self._handle_connect(connection_id, namespace, auth)

    async def disconnect_namespace(self, connection_id: str, namespace: str) -> None:
        """Disconnect a client from a namespace."""
        await self._handle_disconnect(connection_id, namespace)

    async def aclose(self) -> None:
        """Wait until every connection has ended, and cancel the library's service task. Close the connections first."""
        await asyncio.gather(*(websocket.wait_closed() for websocket in list(self.eio.websockets.values())))
        service_task, self.eio.service_task_handle = self.eio.service_task_handle, None
        if service_task is not None:
            service_task.cancel()
            await asyncio.gather(service_task, return_exceptions=True)
        self.eio.start_service_task = True

    def _engineio_server_class(self) -> type[EngineServer]:
        return EngineServer

    async def _handle_eio_connect(self, connection_id: str, environ: WsgiEnviron) -> None:
        await super()._handle_eio_connect(connection_id, environ)
        self._callbacks.on_connection_opened(connection_id, environ["REMOTE_ADDR"])

    async def _handle_eio_message(self, connection_id: str, message: str | bytes) -> None:
        await self._callbacks.on_message(connection_id, message)

    async def _handle_eio_disconnect(self, connection_id: str, reason: str) -> None:
        await super()._handle_eio_disconnect(connection_id, reason)
        self._callbacks.on_connection_closed(connection_id)

    async def _trigger_event(self, event: str, namespace: str, *args: Any) -> None:
        client_id: str = args[0]
        if event == "disconnect":
            self._callbacks.on_namespace_disconnect(client_id)
            return
        connection_id = self.manager.eio_sid_from_sid(client_id, namespace)
        try:
            # `auth` is always accepted: the library retries a handler that lacks the parameter.
            await self._callbacks.on_namespace_connect(
                connection_id, client_id, namespace, args[2] if len(args) > 2 else None
            )
        except HubConnectionRefused as refused:
            failure = refused.payload
            details = failure.to_json()["error"]
            raise socketio.exceptions.ConnectionRefusedError(failure.code, details) from refused

    async def _send_packet(self, connection_id: str, packet: Any) -> None:
        self._callbacks.send_packet(connection_id, packet.encode())


def _json_error(status: str, failure: ErrorPayload) -> dict[str, Any]:
    """Return an error response as the library represents it."""
    headers = [("Content-Type", "application/json")]
    return {"status": status, "headers": headers, "response": encode_json(failure.to_json()).encode()}


def _is_allowed(allowed: Collection[str], origin: str | None, environ: WsgiEnviron) -> bool:
    return is_allowed_origin(origin, environ, allowed)
