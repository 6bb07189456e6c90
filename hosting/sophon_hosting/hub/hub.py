"""Socket.IO hub: authenticates clients, dispatches their events, and streams the events of their sessions to them."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, cast

from aiohttp import web

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.errors import StoreError
from sophon.events import SessionChanged
from sophon_hosting.background_tasks import BackgroundTasks, end_tasks
from sophon_hosting.client_api.authentication.client_authentication import ClientAuthenticator
from sophon_hosting.client_api.authentication.login_throttle import LoginThrottle
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.caller_connection import Connection, DirectConnection
from sophon_hosting.client_api.client_address import TrustedProxies
from sophon_hosting.client_api.client_errors import ErrorPayload, Forbidden, Unauthorized, Unavailable, to_error_payload
from sophon_hosting.client_api.rights import OPERATOR_SCOPE, ScopeNeeded
from sophon_hosting.events.wire_event import to_wire_event
from sophon_hosting.host import Host
from sophon_hosting.hub.hub_client import CHAT_NAMESPACE, OPERATOR_NAMESPACE, HubClient, HubConnection
from sophon_hosting.hub.limits import HubLimits
from sophon_hosting.hub.packet_dispatcher import PacketDispatcher, encode_error_event
from sophon_hosting.hub.pending_handshakes import PendingHandshakes
from sophon_hosting.hub.protocol.engineio_transport import TextMessage
from sophon_hosting.hub.protocol.socketio_server import (
    EngineConnection,
    HubConnectionRefused,
    SocketServer,
)
from sophon_hosting.hub.sending.client_send_buffer import SendBuffer
from sophon_hosting.hub.sending.event_encoding import EventEncoder
from sophon_hosting.hub.sending.packet_queue import TextPacket
from sophon_hosting.hub.sending.total_send_limit import SendLimit
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.store.contract import host_store

log = logging.getLogger("sophon")

STOPPING = "the host is stopping; try again when it has restarted"
"""Error message for clients that connect while the host stops."""

CHECK_INTERVAL_SECONDS = 1.0
"""Interval at which the log-ins are checked: a client that only listens hears no more than this after a revocation."""


@dataclass(frozen=True, slots=True)
class HubStatistics:
    """Statistics of a hub at one moment.

    `connections`: open connections. `clients`: clients connected to a namespace; `operators` of them to the
    operator namespace. `sessions`: sessions with at least one subscriber. `buffered_bytes`: data queued for slow
    clients. `disconnected`: clients disconnected so far because they were too slow.
    """

    connections: int
    clients: int
    operators: int
    sessions: int
    buffered_bytes: int
    disconnected: int


class Hub:
    """Socket.IO interface of a host: `attach` it to an application, then `start`.

    `access` authenticates clients; if no users are configured, every client is the local user. `settings` supply the
    allowed origins and the trusted proxies. `settings` default to those of the host. `throttle` delays
    failed log-ins. `on_client` is called when a client was authenticated.
    """

    def __init__(
        self,
        host: Host,
        access: TokenAuthenticator,
        *,
        settings: HubSettings | None = None,
        limits: HubLimits | None = None,
        throttle: LoginThrottle | None = None,
        on_client: Callable[[], None] | None = None,
    ) -> None:
        self._host = host
        self._on_client = on_client
        self._limits, self._clock = limits or HubLimits(), host.services.clock
        self._access = ClientAuthenticator(access, host_store(host.services), self._clock)
        self._credentials = CredentialWatch(self._access, self._clock, self._close_connection)
        self._throttle = throttle or LoginThrottle(self._clock)
        chosen = settings or host.services.settings.section(HubSettings)
        self._server = SocketServer(
            self,
            clock=self._clock,
            limits=self._limits,
            namespaces=(CHAT_NAMESPACE, OPERATOR_NAMESPACE),
            origins=chosen.allowed_origins,
            proxies=TrustedProxies(chosen.trusted_proxies),
        )
        self._encoder = EventEncoder(TextMessage)
        self._send_limit = SendLimit(self._limits.max_total_buffered_bytes)
        self._dispatcher = PacketDispatcher(self._server, self._limits)
        self._connections: dict[str, HubConnection] = {}
        self._engine_connections: dict[str, EngineConnection] = {}
        self._clients: dict[str, HubClient] = {}
        self._clients_per_user: Counter[str] = Counter()
        self._handshakes = PendingHandshakes(self._clock, self._limits, self._close_connection)
        self._background_tasks = BackgroundTasks()
        self._disconnected = 0
        self._stopping = False
        host.session_changes.subscribe(self._send_change)

    def attach(self, app: web.Application) -> None:
        """Serve `/socket.io/` in an application; the hub stops when the application shuts down, at the latest."""
        self._server.attach_to(app)
        app.on_shutdown.append(self._on_shutdown)

    async def start(self) -> None:
        """Accept clients, also after a `stop`. A new hub accepts them before this call: it needs no preparation."""
        self._stopping = False

    async def stop(self) -> None:
        """Close every connection, and return when all are closed. Clients reconnect by themselves."""
        self._stopping = True
        for connection_id in list(self._connections):
            engine_connection = self._engine_connections[connection_id]
            if not engine_connection.is_polling:  # a polling client would not fetch the packets any more
                self._connections[connection_id].send_buffer.flush()
            await engine_connection.close()
        await self._server.aclose()
        await self._credentials.aclose()
        await self._background_tasks.wait()
        await self._handshakes.aclose()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    def statistics(self) -> HubStatistics:
        """Return the current statistics."""
        return HubStatistics(
            connections=len(self._connections),
            clients=len(self._clients),
            operators=sum(client.is_operator for client in self._clients.values()),
            sessions=len({session for client in self._clients.values() for session in client.sessions}),
            buffered_bytes=sum(connection.send_buffer.buffered_bytes for connection in self._connections.values()),
            disconnected=self._disconnected,
        )

    def check_admission(self) -> ErrorPayload | None:
        """Return the failure for a new connection; None if it is accepted."""
        if self._stopping:
            return to_error_payload(Unavailable(STOPPING))
        if len(self._connections) >= self._limits.max_connections:
            return ErrorPayload(
                "too_many_connections", "the maximum number of connections is open; try again later", 503
            )
        return None

    def on_connection_opened(self, connection_id: str, address: str) -> None:
        """Register a new connection and start its handshake timeout."""
        engine_connection = self._engine_connections[connection_id] = self._server.engine_connection(connection_id)

        def disconnect(reason: str) -> None:
            self._disconnected += 1
            log.warning("disconnecting slow client at %s: %s; it can resume with last_seq", address, reason)
            self._background_tasks.start(engine_connection.close())

        send_buffer = SendBuffer(
            engine_connection, TextMessage, self._clock, self._limits, disconnect, self._send_limit
        )
        engine_connection.watch_ping(lambda: send_buffer.has_waiting_request)
        connection = self._connections[connection_id] = HubConnection(connection_id, address, send_buffer)
        self._handshakes.start(connection)

    async def on_message(self, connection_id: str, message: str | bytes) -> None:
        """Dispatch a message; those of one connection are processed in order, one at a time."""
        connection = self._connections.get(connection_id)
        if connection is None:
            return
        async with connection.receive_lock:
            if connection.is_lost or not connection.send_buffer.is_closed:
                if not await self._credentials.holds(connection):
                    await self._close_connection(connection)
                    return
                self._engine_connections[connection_id].record_activity()
                await self._dispatcher.dispatch(connection, message)

    async def on_namespace_connect(self, connection_id: str, client_id: str, namespace: str, auth: object) -> None:
        """Authenticate a client; a wrong token is answered later with each failure.

        Raises HubConnectionRefused on any error, because the client would receive no answer otherwise.
        """
        connection, way = self._connections[connection_id], DirectConnection(self._clock)
        try:
            caller = await self._authenticate(namespace, auth, way)
        except Exception as error:
            if isinstance(error, Unauthorized) and error.token_given:
                await self._throttle.delay_failure(connection.address, str(_token_of(auth)))
            raise HubConnectionRefused(to_error_payload(error)) from error
        if self._on_client is not None:
            self._on_client()
        user_id = caller.user.id
        if self._clients_per_user[user_id] >= self._limits.max_connections_per_user:
            message = f"user {user_id!r} has {self._clients_per_user[user_id]} connections; close some of them"
            raise HubConnectionRefused(ErrorPayload("too_many_connections", message, 429))
        self._clients_per_user[user_id] += 1
        client = HubClient(connection, namespace, caller, self._encoder)
        self._clients[client_id] = connection.clients[namespace] = way.subscriptions = client
        self._handshakes.cancel(connection)
        self._credentials.add(client)
        if client.is_operator:
            self._host.event_bus.subscribe_all(client.send_operator_event, elsewhere=True)

    def _send_change(self, event: SessionChanged, owner: str) -> None:
        """Send what is shown of a session to all clients who may see it and have not joined it."""
        wire_event = to_wire_event(event)
        for client in list(self._clients.values()):
            client.send_change(wire_event, owner)

    def on_namespace_disconnect(self, client_id: str) -> None:
        """Remove a disconnected client and its subscriptions."""
        client = self._clients.pop(client_id, None)
        if client is None:
            return
        self._credentials.discard(client)
        user_id = client.caller.user.id
        self._clients_per_user[user_id] -= 1
        if not self._clients_per_user[user_id]:
            del self._clients_per_user[user_id]
        client.leave_all_sessions()
        if client.is_operator:
            self._host.event_bus.unsubscribe_all(client.send_operator_event)
        del client.connection.clients[client.namespace]
        if not client.connection.clients and not client.connection.send_buffer.is_closed:
            self._handshakes.start(client.connection)

    def on_transport_lost(self, connection_id: str) -> None:
        """End the waiting requests of a client that is gone; the reader, which waits with them, then ends too."""
        connection = self._connections.get(connection_id)
        if connection is not None:
            connection.is_lost = True
            connection.send_buffer.close()

    def build_refusals(self, connection_id: str, failure: ErrorPayload) -> Sequence[str]:
        """Return the error event for each client of a connection."""
        connection = self._connections.get(connection_id)
        namespaces = connection.clients if connection is not None else ()
        return [encode_error_event(namespace, failure) for namespace in namespaces]

    def on_connection_closed(self, connection_id: str) -> None:
        """Remove a closed connection."""
        connection = self._connections.pop(connection_id, None)
        if connection is None:
            return
        connection.send_buffer.close()
        self._handshakes.cancel(connection)
        self._engine_connections.pop(connection_id).dispose()

    def send_packet(self, connection_id: str, text: str) -> None:
        """Send a packet of the server through the connection's send buffer."""
        connection = self._connections.get(connection_id)
        if connection is not None:
            connection.send_buffer.send_packet(TextPacket(text))

    async def _authenticate(self, namespace: str, auth: object, way: Connection) -> Caller:
        """Return the caller of a handshake's token. Raises Unauthorized, Forbidden, Unavailable.

        A token in the URL is ignored, because URLs end up in logs.
        """
        if self._stopping:
            raise Unavailable(STOPPING)
        token = _token_of(auth)
        user = await self._access.authenticate(token)
        if namespace == OPERATOR_NAMESPACE:
            if user.scopes is not None and OPERATOR_SCOPE not in user.scopes:
                raise ScopeNeeded(OPERATOR_SCOPE)
            if not user.operator:
                raise Forbidden("only operators may connect to this namespace")
            return Caller(self._host, user, connection=way)
        # In the chat namespace an operator has no operator rights: every user sees their own sessions only.
        user, is_operator = replace(user, operator=False), user.operator
        return Caller(self._host, user, knows_all=is_operator, connection=way)

    async def _close_connection(self, connection: HubConnection) -> None:
        engine_connection = self._engine_connections.get(connection.id)
        if engine_connection is not None:
            await engine_connection.close()

    async def _on_shutdown(self, _app: web.Application) -> None:
        await self.stop()


def _token_of(auth: object) -> str | None:
    """Return the token of a handshake's `auth`; None if it has none."""
    token = cast(Mapping[str, Any], auth).get("token") if isinstance(auth, Mapping) else None
    return token if isinstance(token, str) else None


class CredentialWatch:
    """The connected clients with such a log-in; there is no task while there are none. `close` closes a connection.

    What a client sends is checked at once, by `holds`. A store that is unavailable says nothing about a token: the next
    check follows, and an expiry, which needs no store, still ends the log-in.
    """

    def __init__(
        self, authenticator: ClientAuthenticator, clock: Clock, close: Callable[[HubConnection], Awaitable[None]]
    ) -> None:
        self._authenticator, self._clock, self._close = authenticator, clock, close
        self._clients: set[HubClient] = set()
        self._task: asyncio.Task[None] | None = None

    def add(self, client: HubClient) -> None:
        """Watch a client, if its log-in can end."""
        if client.caller.user.can_end:
            self._clients.add(client)
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._watch())

    def discard(self, client: HubClient) -> None:
        """Watch a client no longer."""
        self._clients.discard(client)

    async def holds(self, connection: HubConnection) -> bool:
        """Return whether the log-ins of all clients of a connection hold; False while the store cannot say so."""
        for client in list(connection.clients.values()):
            if client.caller.user.can_end and not await self._is_valid(client, unknown=False):
                return False
        return True

    async def aclose(self) -> None:
        """End the watch."""
        await end_tasks(self._task)

    async def _watch(self) -> None:
        while self._clients:
            await self._clock.sleep(CHECK_INTERVAL_SECONDS)
            for client in list(self._clients):
                if client in self._clients and not await self._is_valid(client, unknown=True):
                    self._clients.discard(client)
                    await self._close(client.connection)

    async def _is_valid(self, client: HubClient, *, unknown: bool) -> bool:
        try:
            return await self._authenticator.is_still_valid(client.caller.user)
        except StoreError:
            return unknown
