"""What a client says and what it is answered: every event has its answer, whatever is wrong with it."""

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
"""The event that tells of a failure where no acknowledgement is expected: `code`, `message`, and `event` if known."""

NO_BINARY = Failure("input", "binary data is not taken here")


class Doors(Protocol):
    """Lets clients into a namespace, and out of it."""

    async def enter(self, connection_id: str, namespace: str, auth: object) -> None:
        """Somebody wants to enter; they are told whether they are in."""
        ...

    async def leave(self, connection_id: str, namespace: str) -> None:
        """Somebody leaves."""
        ...


class Conversation:
    """Reads what comes over a connection, one packet after the other, and answers it.

    While an event is worked off, what the client is to be told waits, so that it comes after the answer: to who joins
    a session, or begins one, the answer says what went before.
    """

    def __init__(self, doors: Doors, limits: Limits) -> None:
        self._doors, self._limits = doors, limits

    async def hear(self, connection: Connection, message: str | bytes) -> None:
        """Take one message."""
        if isinstance(message, bytes):
            self._attachment(connection)
            return
        connection.attachments = 0
        packet = read_packet(message)
        if packet.kind == "event":
            await self._event(connection, packet)
        elif packet.kind == "connect":
            await self._doors.enter(connection.id, packet.namespace, packet.data)
        elif packet.kind == "disconnect":
            await self._doors.leave(connection.id, packet.namespace)
        elif packet.kind == "binary":
            connection.attachments = packet.attachments
            self._fail(connection, packet, NO_BINARY)
        elif packet.kind == "malformed":
            self._fail(connection, packet, Failure("malformed", packet.problem))

    async def _event(self, connection: Connection, packet: Packet) -> None:
        name, *arguments = packet.data
        client = connection.clients.get(packet.namespace)
        if client is None:
            message = f"you have not entered the namespace {packet.namespace[:LONGEST_NAME]!r}: connect first"
            self._fail(connection, packet, Failure("not_connected", message), name)
            return
        connection.outbox.hold()
        reply: Words | None = None
        try:
            reply = await self._reply(client, packet, name, arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is told
            reply = _failed(packet, failure_of(error), name)
        finally:
            connection.outbox.release(reply)

    async def _reply(self, client: Client, packet: Packet, name: str, arguments: Sequence[object]) -> Words | None:
        reply = {"ok": True, **await answer(client, name, arguments)}
        if packet.ack is None:
            return None
        payload = encoded(reply)
        size = size_of(payload)
        if size > self._limits.answer_bytes:
            raise TooLarge("the answer", size, self._limits.answer_bytes, "bytes")
        return Words(ack_text(packet.namespace, packet.ack, payload))

    def _fail(self, connection: Connection, packet: Packet, failure: Failure, name: str | None = None) -> None:
        connection.outbox.send(_failed(packet, failure, name))

    def _attachment(self, connection: Connection) -> None:
        """It belongs to a packet that was refused; one that belongs to none is refused itself."""
        if connection.attachments:
            connection.attachments -= 1
        else:
            self._fail(connection, Packet("malformed"), NO_BINARY)


def _failed(packet: Packet, failure: Failure, name: str | None) -> Words:
    """The acknowledgement of a failure, or the event that tells of it where none is expected."""
    answer = failure.to_json()
    if packet.ack is not None:
        return Words(ack_text(packet.namespace, packet.ack, encoded(answer)))
    of = {"event": name[:LONGEST_NAME]} if name else {}
    return Words(event_text(packet.namespace, encoded([ERROR, {**answer["error"], **of}])))
