"""Socket.IO packets as text: parse packets of clients, encode events and acknowledgements.

Source: Socket.IO protocol, revision 5: type, number of attachments and `-`, namespace and `,`, acknowledgement id,
JSON. The library's parser raises on invalid packets, which then remain unacknowledged; this parser never raises.
"""

import re
from typing import Any, Literal, TypeAlias, cast

import orjson

from sophon._python.lazy_dataclass import dataclass

PacketKind: TypeAlias = Literal["connect", "disconnect", "event", "ack", "binary", "malformed"]

_KINDS: dict[str, PacketKind] = {
    "0": "connect",
    "1": "disconnect",
    "2": "event",
    "3": "ack",
    "5": "binary",
    "6": "binary",
}
_HEAD = re.compile(r"([012356])(?:(?<=[56])([0-9]{1,10})-)?(/[^,]*(?:,|$))?([0-9]*)")
_LONGEST_ACK = 15
"""Maximum digits of an acknowledgement id: an integer that every JSON parser keeps exact."""


@dataclass(frozen=True, slots=True)
class SocketIoPacket:
    """A parsed packet.

    `ack` is the acknowledgement id, None if none is requested. `data` is an event's list of name and arguments, or the
    payload of a connect. A binary packet is followed by `attachments` binary messages. `problem` says why a packet is
    malformed.
    """

    kind: PacketKind
    namespace: str = "/"
    ack: str | None = None
    data: Any = None
    attachments: int = 0
    problem: str = ""


def parse_packet(text: str) -> SocketIoPacket:
    """Parse the text of a packet; an invalid one has the kind `malformed`. Never raises."""
    head = _HEAD.match(text)
    if head is None:
        return SocketIoPacket("malformed", problem="not a Socket.IO packet")
    kind = _KINDS[head[1]]
    namespace = (head[3] or "/").removesuffix(",").partition("?")[0]
    if len(head[4]) > _LONGEST_ACK:
        return SocketIoPacket("malformed", namespace, problem="the acknowledgement id is too long")
    ack = head[4] or None
    if kind == "binary":
        return SocketIoPacket(kind, namespace, ack if head[1] == "5" else None, attachments=int(head[2] or 0))
    body = text[head.end() :]
    try:
        data = orjson.loads(body) if body else None
    except orjson.JSONDecodeError as error:
        return SocketIoPacket("malformed", namespace, ack, problem=f"the payload is not valid JSON: {error}")
    if kind == "event" and not _is_event(data):
        return SocketIoPacket("malformed", namespace, ack, problem="an event must be a list that begins with its name")
    return SocketIoPacket(kind, namespace, ack, data)


def encode_event_packet(namespace: str, event: str) -> str:
    """Return the packet of an event; `event` is the JSON list of its name and arguments."""
    return f"2{_prefix(namespace)}{event}"


def encode_ack_packet(namespace: str, ack: str, payload: str) -> str:
    """Return the acknowledgement packet with a JSON payload."""
    return f"3{_prefix(namespace)}{ack}[{payload}]"


def utf8_length(text: str) -> int:
    """Return the length of a text in UTF-8 bytes; lone surrogates count 3 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _prefix(namespace: str) -> str:
    return "" if namespace == "/" else f"{namespace},"


def _is_event(data: object) -> bool:
    return isinstance(data, list) and isinstance(next(iter(cast(list[object], data)), None), str)
