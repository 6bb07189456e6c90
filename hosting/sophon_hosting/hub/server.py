"""python-socketio as the hub uses it: its transports, its handshake and its lists of who is connected, nothing else.

Events never reach the library's own dispatch, where an exception, an unknown name or a payload that cannot be read
means that the client is never answered; what is sent never goes through its `emit`, which has no bound. For that this
overrides methods that the library does not promise to keep; tests/hosting/hub/test_library.py says when it has not.
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

# Neither library says what types it has; what leaves this file has its own.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
_EngineServer: Any = engineio.AsyncServer
_SocketServer: Any = socketio.AsyncServer
_EnginePacket: Any = engineio.packet.Packet
_MESSAGE: int = engineio.packet.MESSAGE
_CONNECT_ERROR: int = socketio.packet.CONNECT_ERROR


class Refused(Exception):
    """Somebody is not let in; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.message)


class Reception(Protocol):
    """Who is told what the server hears."""

    def refusal(self, address: str) -> Failure | None:
        """Why nobody else is let in from an address; None if somebody is."""
        ...

    def opened(self, connection_id: str, address: str) -> None:
        """A connection was opened; it belongs to nobody yet."""
        ...

    async def received(self, connection_id: str, message: str | bytes) -> None:
        """A message has come."""
        ...

    def closed(self, connection_id: str) -> None:
        """A connection has ended; everybody on it has left."""
        ...

    def entered(self, connection_id: str, client_id: str, namespace: str, auth: object) -> None:
        """Somebody wants to enter a namespace. Raises Refused."""
        ...

    def left(self, client_id: str) -> None:
        """Somebody has left a namespace."""
        ...

    def sent(self, connection_id: str, text: str) -> None:
        """The server wants a packet sent."""
        ...


class EngineLine:
    """One connection of Engine.IO: what is to be sent, and its end. It goes on over an upgrade to WebSocket."""

    def __init__(self, engine: "Engine", connection_id: str) -> None:
        self._engine, self._id = engine, connection_id
        self._socket: Any = engine.sockets[connection_id]
        self.queue: asyncio.Queue[Any] = self._socket.queue

    @property
    def polls(self) -> bool:
        """Whether it is no WebSocket."""
        return not self._socket.upgraded

    def unsent(self) -> int:
        """Bytes that the network has not taken; of a polling client nobody knows."""
        websocket = self._engine.websockets.get(self._id)
        transport = websocket.transport if websocket else None
        return transport.get_write_buffer_size() if transport else 0

    async def close(self) -> None:
        """End it, as `closed` of the reception will say. A client takes it for trouble with the line, and comes back:
        after the goodbye of Socket.IO those in JavaScript would not.
        """
        await self._socket.close(wait=False, abort=True, reason=self._engine.reason.SERVER_DISCONNECT)

    def end(self) -> None:
        """It is closed: nothing of it stays."""
        self._engine.forget(self._id, self.queue)


class Engine(_EngineServer):  # type: ignore[misc]
    """Engine.IO over the transport of this package."""

    def __init__(self, *, clock: Clock, limits: Limits, reception: Reception, **options: Any) -> None:
        super().__init__(**options)
        self._clock, self._limits, self._reception = clock, limits, reception
        self._async: dict[str, Any] = {**self._async, "websocket": self._websocket, "translate_request": self._environ}
        self._pings: dict[str, asyncio.Task[None]] = {}
        self.websockets: dict[str, WebSocket] = {}

    async def handle_request(self, request: web.Request) -> web.StreamResponse:
        """Answer one request; a new connection only if there is room for it."""
        failure = None if "sid" in request.query else self._reception.refusal(request.remote or "")
        if failure is not None:
            return web.json_response(failure.to_json(), status=failure.status)
        return cast(web.StreamResponse, await super().handle_request(request))

    def start_background_task(self, target: Callable[..., Any], *args: Any, **named: Any) -> "asyncio.Task[None]":
        """The library's ping of a connection sleeps on for 25 s when that has ended, and keeps it: unless cancelled."""
        task: asyncio.Task[None] = super().start_background_task(target, *args, **named)
        connection_id = getattr(getattr(target, "__self__", None), "sid", None)
        if connection_id is not None:
            self._pings[connection_id] = task
            task.add_done_callback(partial(self._pinged, connection_id))
        return task

    def forget(self, connection_id: str, queue: "asyncio.Queue[Any]") -> None:
        """A connection has ended: let its reader and its writer go, and keep nothing."""
        self.sockets.pop(connection_id, None)
        if connection_id in self._pings:
            self._pings[connection_id].cancel()
        # No goodbye of Engine.IO either: clients in Python would not come back after it.
        queue.put_nowait(None)
        websocket = self.websockets.get(connection_id)
        if websocket is not None:
            websocket.finish()

    def _pinged(self, connection_id: str, task: "asyncio.Task[None]") -> None:
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
    """The server of a hub, which is its reception."""

    def __init__(
        self,
        reception: Reception,
        *,
        clock: Clock,
        limits: Limits,
        namespaces: Collection[str],
        origins: Collection[str],
    ) -> None:
        quiet = logging.getLogger("sophon.hub.library")
        # At INFO the libraries log every packet, tokens too; given no logger, they set up the logging of the process.
        quiet.setLevel(logging.WARNING)
        super().__init__(
            async_mode="aiohttp",
            async_handlers=False,
            namespaces=list(namespaces),
            # Never a list: an empty one would let everybody in.
            cors_allowed_origins=partial(_may_connect, origins),
            max_http_buffer_size=limits.packet_bytes,
            logger=quiet,
            engineio_logger=quiet,
            clock=clock,
            limits=limits,
            reception=reception,
        )
        self._reception = reception
        self._known = frozenset(namespaces)

    def serve(self, app: web.Application) -> None:
        """Serve `/socket.io/` in an application."""
        self.attach(app)

    def line(self, connection_id: str) -> EngineLine:
        """A connection that was opened."""
        return EngineLine(self.eio, connection_id)

    async def enter(self, connection_id: str, namespace: str, auth: object) -> None:
        """Somebody wants to enter a namespace; they are told whether they are in."""
        if namespace not in self._known:
            message = f"there is no namespace {namespace[:100]!r}; there are {' and '.join(sorted(self._known))}"
            data = {"message": "unknown_namespace", "data": {"code": "unknown_namespace", "message": message}}
            refused = self.packet_class(_CONNECT_ERROR, data=data, namespace=namespace)
            self._reception.sent(connection_id, refused.encode())
            return
        await self._handle_connect(connection_id, namespace, auth)

    async def leave(self, connection_id: str, namespace: str) -> None:
        """Somebody leaves a namespace."""
        await self._handle_disconnect(connection_id, namespace)

    async def aclose(self) -> None:
        """Wait for the end of connections, which are closed before, and stop what runs in the background."""
        await asyncio.gather(*(websocket.ended() for websocket in list(self.eio.websockets.values())))
        watch, self.eio.service_task_handle = self.eio.service_task_handle, None
        if watch is not None:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
        self.eio.start_service_task = True

    def _engineio_server_class(self) -> type[Engine]:
        return Engine

    async def _handle_eio_connect(self, connection_id: str, environ: Environ) -> None:
        await super()._handle_eio_connect(connection_id, environ)
        self._reception.opened(connection_id, environ["REMOTE_ADDR"])

    async def _handle_eio_message(self, connection_id: str, message: str | bytes) -> None:
        await self._reception.received(connection_id, message)

    async def _handle_eio_disconnect(self, connection_id: str, reason: str) -> None:
        await super()._handle_eio_disconnect(connection_id, reason)
        self._reception.closed(connection_id)

    async def _trigger_event(self, event: str, namespace: str, *args: Any) -> None:
        client_id: str = args[0]
        if event == "disconnect":
            self._reception.left(client_id)
            return
        connection_id = self.manager.eio_sid_from_sid(client_id, namespace)
        try:
            # With `auth` always: the library calls a handler without that parameter twice.
            self._reception.entered(connection_id, client_id, namespace, args[2] if len(args) > 2 else None)
        except Refused as refused:
            failure = refused.failure
            told = failure.to_json()["error"]
            raise socketio.exceptions.ConnectionRefusedError(failure.code, told) from refused

    async def _send_packet(self, connection_id: str, packet: Any) -> None:
        self._reception.sent(connection_id, packet.encode())


def message_of(text: str) -> object:
    """A message of Engine.IO, which carries a packet of Socket.IO."""
    return _EnginePacket(_MESSAGE, data=text)


def _may_connect(allowed: Collection[str], origin: str | None, environ: Environ) -> bool:
    return may_connect(origin, environ, allowed)
