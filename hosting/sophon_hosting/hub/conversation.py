"""Event dispatcher of the hub: parses each packet of a client, runs its handler, and acknowledges every event once."""

from collections.abc import Sequence
from typing import Protocol

from sophon_hosting.events.frame import encoded
from sophon_hosting.failures import Failure, TooLarge, failure_of
from sophon_hosting.hub.client import Client, Connection
from sophon_hosting.hub.events import LONGEST_NAME, answer
from sophon_hosting.hub.limits import Limits
from sophon_hosting.hub.packets import Packet, ack_text, event_text, read_packet, size_of
from sophon_hosting.hub.waiting import Words

ERROR = "error"
"""Event that reports a failure if the client requested no acknowledgement: `code`, `message`, and `event` if known."""

NO_BINARY = Failure("input", "binary data is not accepted")


class Doors(Protocol):
    """Connects clients to a namespace and disconnects them."""

    async def enter(self, connection_id: str, namespace: str, auth: object) -> None:
        """Connect a client to a namespace, or send it a refusal."""
        ...

    async def leave(self, connection_id: str, namespace: str) -> None:
        """Disconnect a client from a namespace."""
        ...


class Conversation:
    """Dispatches the messages of connections: parses packets, calls handlers, sends acknowledgements.

    While a handler runs, events to the client are held, so that they follow the acknowledgement: the acknowledgement
    of a join contains the events before them.
    """

    def __init__(self, doors: Doors, limits: Limits) -> None:
        self._namespaces, self._limits = doors, limits

    async def hear(self, connection: Connection, message: str | bytes) -> None:
        """Dispatch one message of a connection."""
        if isinstance(message, bytes):
            self._receive_attachment(connection)
            return
        connection.attachments = 0
        packet = read_packet(message)
        if packet.kind == "event":
            await self._handle(connection, packet)
        elif packet.kind == "connect":
            await self._namespaces.enter(connection.id, packet.namespace, packet.data)
        elif packet.kind == "disconnect":
            await self._namespaces.leave(connection.id, packet.namespace)
        elif packet.kind == "binary":
            connection.attachments = packet.attachments
            self._send_failure(connection, packet, NO_BINARY)
        elif packet.kind == "malformed":
            self._send_failure(connection, packet, Failure("malformed", packet.problem))

    async def _handle(self, connection: Connection, packet: Packet) -> None:
        name, *arguments = packet.data
        client = connection.clients.get(packet.namespace)
        if client is None:
            message = f"not connected to namespace {packet.namespace[:LONGEST_NAME]!r}: send a connect packet first"
            self._send_failure(connection, packet, Failure("not_connected", message), name)
            return
        connection.outbox.hold()
        ack: Words | None = None
        try:
            ack = await self._build_ack(client, packet, name, arguments)
        except Exception as error:  # noqa: BLE001 - every event must be acknowledged, whatever fails
            ack = _failure_packet(packet, failure_of(error), name)
        finally:
            connection.outbox.release(ack)

    async def _build_ack(self, client: Client, packet: Packet, name: str, arguments: Sequence[object]) -> Words | None:
        result = {"ok": True, **await answer(client, name, arguments)}
        if packet.ack is None:
            return None
        payload = encoded(result)
        size = size_of(payload)
        if size > self._limits.answer_bytes:
            raise TooLarge("the acknowledgement", size, self._limits.answer_bytes, "bytes")
        return Words(ack_text(packet.namespace, packet.ack, payload))

    def _send_failure(self, connection: Connection, packet: Packet, failure: Failure, name: str | None = None) -> None:
        connection.outbox.send(_failure_packet(packet, failure, name))

    def _receive_attachment(self, connection: Connection) -> None:
        """Drop the attachment of a refused packet; refuse one that belongs to no packet."""
        if connection.attachments:
            connection.attachments -= 1
        else:
            self._send_failure(connection, Packet("malformed"), NO_BINARY)


def _failure_packet(packet: Packet, failure: Failure, name: str | None) -> Words:
    """Return the failing acknowledgement, or the event `ERROR` if the client requested no acknowledgement."""
    body = failure.to_json()
    if packet.ack is not None:
        return Words(ack_text(packet.namespace, packet.ack, encoded(body)))
    event = {"event": name[:LONGEST_NAME]} if name else {}
    return Words(event_text(packet.namespace, encoded([ERROR, {**body["error"], **event}])))
