"""The hub: lets clients in, answers every event they send, and tells them what happens in their sessions."""

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

from aiohttp import web

from sophon.clock import Clock
from sophon.settings import HubSettings
from sophon_hosting.access import Access, User
from sophon_hosting.desk import Desk
from sophon_hosting.failures import Failure, Forbidden, Unauthorized, Unavailable, failure_of
from sophon_hosting.host import Host
from sophon_hosting.hub.client import CHAT, OPERATOR, Client, Connection
from sophon_hosting.hub.conversation import Conversation
from sophon_hosting.hub.encoding import Encoder
from sophon_hosting.hub.limits import Limits
from sophon_hosting.hub.outbox import Outbox
from sophon_hosting.hub.server import EngineLine, Refused, SocketServer, message_of
from sophon_hosting.hub.waiting import Words

log = logging.getLogger("sophon")


@dataclass(frozen=True, slots=True)
class HubStatistics:
    """The hub at one moment. `connections` are open; `clients` have entered a namespace, `operators` that of operators;
    `sessions` are heard by somebody; `buffered_bytes` wait for slow clients. `disconnected` were too slow so far.
    """

    connections: int
    clients: int
    operators: int
    sessions: int
    buffered_bytes: int
    disconnected: int


class Hub:
    """A host over Socket.IO: `attach` it to an application, then `start`.

    Everybody in it is somebody that `access` knows; without users everybody is the local user. `settings` say which web
    pages may connect. `clock` is that of the host by default.
    """

    def __init__(
        self,
        host: Host,
        access: Access,
        *,
        settings: HubSettings | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._host, self._access = host, access
        self._limits, self._clock = limits or Limits(), clock or host.services.clock
        origins = (settings or host.services.settings.hub).allowed_origins
        self._server = SocketServer(
            self, clock=self._clock, limits=self._limits, namespaces=(CHAT, OPERATOR), origins=origins
        )
        self._encoder = Encoder(message_of)
        self._conversation = Conversation(self._server, self._limits)
        self._connections: dict[str, Connection] = {}
        self._lines: dict[str, EngineLine] = {}
        self._clients: dict[str, Client] = {}
        self._strangers: Counter[str] = Counter()
        self._work: set[asyncio.Task[None]] = set()
        self._disconnected = 0
        self._stopping = False

    def attach(self, app: web.Application) -> None:
        """Serve `/socket.io/` in an application; when that shuts down, the hub stops if it has not."""
        self._server.serve(app)
        app.on_shutdown.append(self._on_shutdown)

    async def start(self) -> None:
        """Let clients in. What arrives before is let in as well: there is nothing to get ready."""
        self._stopping = False

    async def stop(self) -> None:
        """Close every connection, and return when nothing is left. Clients come back by themselves."""
        self._stopping = True
        for connection_id in list(self._connections):
            line = self._lines[connection_id]
            if not line.polls:  # else nobody fetches it any more
                self._connections[connection_id].outbox.flush()
            await line.close()
        await self._server.aclose()
        await asyncio.gather(*self._work, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    def statistics(self) -> HubStatistics:
        """The hub now."""
        return HubStatistics(
            connections=len(self._connections),
            clients=len(self._clients),
            operators=sum(client.watches for client in self._clients.values()),
            sessions=len({session for client in self._clients.values() for session in client.sessions}),
            buffered_bytes=sum(connection.outbox.buffered for connection in self._connections.values()),
            disconnected=self._disconnected,
        )

    def refusal(self, address: str) -> Failure | None:
        """Why nobody else is let in from an address; None if somebody is."""
        if self._stopping:
            return failure_of(Unavailable("the host is about to stop; come back when it is up again"))
        if len(self._connections) >= self._limits.connections:
            return Failure("too_many_connections", "as many connections are open as may be", 503)
        if self._strangers[address] >= self._limits.strangers_per_address:
            message = f"{self._strangers[address]} connections from {address} have not said whose they are"
            return Failure("too_many_connections", message, 429)
        return None

    def opened(self, connection_id: str, address: str) -> None:
        """A connection was opened; it belongs to nobody yet."""
        line = self._lines[connection_id] = self._server.line(connection_id)

        def too_slow(reason: str) -> None:
            self._disconnected += 1
            log.warning("a client at %s is disconnected: %s; it can come back with its last_seq", address, reason)
            self._begin(line.close())

        outbox = Outbox(line, message_of, self._clock, self._limits, too_slow)
        connection = self._connections[connection_id] = Connection(connection_id, address, outbox)
        self._estrange(connection)

    async def received(self, connection_id: str, message: str | bytes) -> None:
        """A message has come; those of one connection are worked off in their order."""
        connection = self._connections.get(connection_id)
        if connection is None:
            return
        async with connection.turnstile:
            if not connection.outbox.closed:
                await self._conversation.hear(connection, message)

    def entered(self, connection_id: str, client_id: str, namespace: str, auth: object) -> None:
        """Let somebody in. Raises Refused, whatever goes wrong: else the client would never be told."""
        connection = self._connections[connection_id]
        try:
            user = self._user(namespace, auth)
        except Exception as error:
            if isinstance(error, Unauthorized):
                log.warning("somebody at %s was not let in: %s", connection.address, error)
            raise Refused(failure_of(error)) from error
        client = Client(connection, namespace, Desk(self._host, user), self._host.feed, self._encoder)
        self._clients[client_id] = connection.clients[namespace] = client
        self._befriend(connection)
        if client.watches:
            client.desk.watch(client.watch)

    def left(self, client_id: str) -> None:
        """Somebody has left a namespace."""
        client = self._clients.pop(client_id, None)
        if client is None:
            return
        client.leave_all()
        if client.watches:
            client.desk.unwatch(client.watch)
        del client.connection.clients[client.namespace]
        if not client.connection.clients:
            self._estrange(client.connection)

    def closed(self, connection_id: str) -> None:
        """A connection has ended."""
        connection = self._connections.pop(connection_id, None)
        if connection is None:
            return
        connection.outbox.close()
        self._befriend(connection)
        self._lines.pop(connection_id).end()

    def sent(self, connection_id: str, text: str) -> None:
        """The server wants a packet sent."""
        connection = self._connections.get(connection_id)
        if connection is not None:
            connection.outbox.send(Words(text))

    def _user(self, namespace: str, auth: object) -> User:
        """Who it is; the token comes with the handshake only, since addresses end up in logs. Raises Unauthorized,
        Forbidden, Unavailable.
        """
        if self._stopping:
            raise Unavailable("the host is about to stop; come back when it is up again")
        token = cast(Mapping[str, Any], auth).get("token") if isinstance(auth, Mapping) else None
        user = self._access.user(token if isinstance(token, str) else None)
        if namespace == OPERATOR:
            if not user.operator:
                raise Forbidden("only operators may enter this namespace")
            return user
        # Who watches over all does so in the other namespace; in this one everybody has their own sessions.
        return User(user.id)

    def _estrange(self, connection: Connection) -> None:
        """It belongs to nobody, and has so long to change that."""
        if connection.deadline is None and not connection.outbox.closed:
            self._strangers[connection.address] += 1
            connection.deadline = self._begin(self._expire(connection))

    def _befriend(self, connection: Connection) -> None:
        """It belongs to somebody, or is over."""
        deadline, connection.deadline = connection.deadline, None
        if deadline is None:
            return
        if deadline is not asyncio.current_task():
            deadline.cancel()
        self._strangers[connection.address] -= 1
        if not self._strangers[connection.address]:
            del self._strangers[connection.address]

    async def _expire(self, connection: Connection) -> None:
        await self._clock.sleep(self._limits.handshake_seconds)
        log.info("a connection from %s has not said whose it is, and is closed", connection.address)
        await self._lines[connection.id].close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    async def _on_shutdown(self, _app: web.Application) -> None:
        await self.stop()
