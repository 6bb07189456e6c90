"""Socket.IO packets as text: read whatever a client sends, and write what it is answered.

Source: Socket.IO protocol, revision 5: type, number of attachments and `-`, namespace and `,`, id of the
acknowledgement, JSON.
The library's own reader raises on what it cannot read, and then nobody is answered; this one never raises.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import orjson

Kind: TypeAlias = Literal["connect", "disconnect", "event", "ack", "binary", "malformed"]

_KINDS: dict[str, Kind] = {
    "0": "connect",
    "1": "disconnect",
    "2": "event",
    "3": "ack",
    "5": "binary",
    "6": "binary",
}
_HEAD = re.compile(r"([012356])(?:(?<=[56])([0-9]{1,10})-)?(/[^,]*(?:,|$))?([0-9]*)")
_LONGEST_ACK = 15
"""Digits of an acknowledgement id: a whole number that every JSON reader keeps exact."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet as it was read.

    `ack` is the id under which an answer is expected. `data` is an event's list of name and arguments, or what came
    with a connect. `attachments` binary messages follow a binary packet. `problem` says why one is malformed.
    """

    kind: Kind
    namespace: str = "/"
    ack: str | None = None
    data: Any = None
    attachments: int = 0
    problem: str = ""


def read_packet(text: str) -> Packet:
    """What a client sent, be it what it may."""
    head = _HEAD.match(text)
    if head is None:
        return Packet("malformed", problem="this is no Socket.IO packet")
    kind = _KINDS[head[1]]
    namespace = (head[3] or "/").removesuffix(",").partition("?")[0]
    if len(head[4]) > _LONGEST_ACK:
        return Packet("malformed", namespace, problem="the acknowledgement id is too long")
    ack = head[4] or None
    if kind == "binary":
        return Packet(kind, namespace, ack if head[1] == "5" else None, attachments=int(head[2] or 0))
    body = text[head.end() :]
    try:
        data = orjson.loads(body) if body else None
    except orjson.JSONDecodeError as error:
        return Packet("malformed", namespace, ack, problem=f"the payload cannot be read as JSON: {error}")
    if kind == "event" and not _is_event(data):
        return Packet("malformed", namespace, ack, problem="an event is a list that begins with its name")
    return Packet(kind, namespace, ack, data)


def event_text(namespace: str, event: str) -> str:
    """The packet of an event, of which name and arguments are a list in JSON already."""
    return f"2{_prefix(namespace)}{event}"


def ack_text(namespace: str, ack: str, payload: str) -> str:
    """The packet that answers an event."""
    return f"3{_prefix(namespace)}{ack}[{payload}]"


def size_of(text: str) -> int:
    """Its length in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _prefix(namespace: str) -> str:
    return "" if namespace == "/" else f"{namespace},"


def _is_event(data: object) -> bool:
    return isinstance(data, list) and isinstance(next(iter(cast(list[object], data)), None), str)
