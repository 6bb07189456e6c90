"""Event dispatcher of the hub: parses each packet of a client, runs its operation, acknowledges every event once."""

from collections.abc import Sequence
from typing import Protocol

from sophon_hosting.client_api.client_errors import ErrorPayload, TooLarge, to_error_payload
from sophon_hosting.hub.client_events import MAX_EVENT_NAME_CHARACTERS, handle_event, has_large_answer
from sophon_hosting.hub.hub_client import HubClient, HubConnection
from sophon_hosting.hub.limits import HubLimits
from sophon_hosting.hub.protocol.socketio_packets import (
    SocketIoPacket,
    encode_ack_packet,
    encode_event_packet,
    parse_packet,
    utf8_length,
)
from sophon_hosting.hub.sending.packet_queue import AnswerPacket, TextPacket
from sophon_hosting.json_text import encode_json

ERROR_EVENT = "error"
"""Event that reports a failure if the client requested no acknowledgement: `code`, `message`, and `event` if known."""

BINARY_REFUSED = ErrorPayload("input", "binary data is not accepted")


class NamespaceHandler(Protocol):
    """Connects clients to a namespace and disconnects them."""

    async def connect_namespace(self, connection_id: str, namespace: str, auth: object) -> None:
        """Connect a client to a namespace, or send it a refusal."""
        ...

    async def disconnect_namespace(self, connection_id: str, namespace: str) -> None:
        """Disconnect a client from a namespace."""
        ...


class PacketDispatcher:
    """Dispatches the messages of connections: parses packets, runs operations, sends acknowledgements.

    While an operation runs, events to the client are held, so that they follow the acknowledgement: the acknowledgement
    of a join contains the events before them.

    A request waits until the client has read earlier answers: one with a large answer for nearly all of them, any
    other one until less than one answer of maximum size is unsent.
    """

    def __init__(self, namespaces: NamespaceHandler, limits: HubLimits) -> None:
        self._namespaces, self._limits = namespaces, limits

    async def dispatch(self, connection: HubConnection, message: str | bytes) -> None:
        """Dispatch one message of a connection."""
        if isinstance(message, bytes):
            self._receive_attachment(connection)
            return
        connection.pending_attachments = 0
        packet = parse_packet(message)
        if packet.kind == "event":
            await self._handle(connection, packet)
        elif packet.kind == "connect":
            await self._namespaces.connect_namespace(connection.id, packet.namespace, packet.data)
        elif packet.kind == "disconnect":
            await self._namespaces.disconnect_namespace(connection.id, packet.namespace)
        elif packet.kind == "binary":
            connection.pending_attachments = packet.attachments
            self._send_failure(connection, packet, BINARY_REFUSED)
        elif packet.kind == "malformed":
            self._send_failure(connection, packet, ErrorPayload("malformed", packet.problem))

    async def _handle(self, connection: HubConnection, packet: SocketIoPacket) -> None:
        name, *arguments = packet.data
        limits, is_large = self._limits, has_large_answer(name)
        await connection.send_buffer.wait_for_answers(limits.max_in_flight_bytes if is_large else limits.max_ack_bytes)
        if connection.send_buffer.is_closed and is_large:
            return  # nobody reads the answer; what changes something, as a cancel before the page is closed, is done
        client = connection.clients.get(packet.namespace)
        if client is None:
            namespace = packet.namespace[:MAX_EVENT_NAME_CHARACTERS]
            message = f"not connected to namespace {namespace!r}: send a connect packet first"
            self._send_failure(connection, packet, ErrorPayload("not_connected", message), name)
            return
        connection.send_buffer.hold()
        ack: TextPacket | None = None
        try:
            ack = await self._build_ack(client, packet, name, arguments)
        except Exception as error:  # noqa: BLE001 - every event must be acknowledged, whatever fails
            ack = _failure_packet(packet, to_error_payload(error), name)
        finally:
            connection.send_buffer.release(ack)

    async def _build_ack(
        self, client: HubClient, packet: SocketIoPacket, name: str, arguments: Sequence[object]
    ) -> TextPacket | None:
        result = {"ok": True, **await handle_event(client.caller, name, arguments)}
        if packet.ack is None:
            return None
        payload = encode_json(result)
        size = utf8_length(payload)
        if size > self._limits.max_ack_bytes:
            raise TooLarge("the acknowledgement", size, self._limits.max_ack_bytes, "bytes")
        return AnswerPacket(encode_ack_packet(packet.namespace, packet.ack, payload))

    def _send_failure(
        self, connection: HubConnection, packet: SocketIoPacket, failure: ErrorPayload, name: str | None = None
    ) -> None:
        connection.send_buffer.send_packet(_failure_packet(packet, failure, name))

    def _receive_attachment(self, connection: HubConnection) -> None:
        """Drop the attachment of a refused packet; refuse one that belongs to no packet."""
        if connection.pending_attachments:
            connection.pending_attachments -= 1
        else:
            self._send_failure(connection, SocketIoPacket("malformed"), BINARY_REFUSED)


def _failure_packet(packet: SocketIoPacket, failure: ErrorPayload, name: str | None) -> TextPacket:
    """Return the failing acknowledgement, or the event `ERROR_EVENT` if the client requested no acknowledgement."""
    if packet.ack is not None:
        return TextPacket(encode_ack_packet(packet.namespace, packet.ack, encode_json(failure.to_json())))
    return TextPacket(encode_error_event(packet.namespace, failure, name))


def encode_error_event(namespace: str, failure: ErrorPayload, name: str | None = None) -> str:
    """Return the packet of the event `ERROR_EVENT`; `name` is that of the event that failed."""
    event = {"event": name[:MAX_EVENT_NAME_CHARACTERS]} if name else {}
    return encode_event_packet(namespace, encode_json([ERROR_EVENT, {**failure.to_json()["error"], **event}]))
