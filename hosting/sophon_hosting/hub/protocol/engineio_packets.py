"""Validation of Engine.IO packets from clients; the library's parser raises unhandled exceptions on invalid ones.

Source: Engine.IO protocol, revision 4: a digit for the type (1 close, 2 ping, 3 pong, 4 message, 5 upgrade, 6 noop),
then data; here, a message is a Socket.IO packet. A polling payload joins up to 16 packets with the character 0x1E; a
binary packet is `b` followed by base64.
"""

import base64
import binascii
import re

MAX_PACKETS_PER_PAYLOAD = 16
"""Maximum number of packets in one polling payload. Source: Engine.IO client and server libraries."""

_WEBSOCKET_PACKET = re.compile(r"4[0-9].*|[156]|[23](probe)?", re.DOTALL)
_POLLING_PACKET = re.compile(r"4[0-9].*|[13]", re.DOTALL)
"""A polling client sends neither pings nor upgrades; on a ping the library would wait forever."""

_SEPARATOR = "\x1e"


def is_engineio_packet(message: str | bytes) -> bool:
    """Return whether a WebSocket message is a packet; a binary one is always accepted, as an attachment."""
    return isinstance(message, bytes) or _WEBSOCKET_PACKET.fullmatch(message) is not None


def find_payload_problem(body: bytes) -> str:
    """Return why the body of a polling request is invalid; empty if it is valid."""
    try:
        packets = body.decode().split(_SEPARATOR)
    except UnicodeDecodeError:
        return "the body is not UTF-8"
    if len(packets) > MAX_PACKETS_PER_PAYLOAD:
        return f"the request contains {len(packets)} packets; at most {MAX_PACKETS_PER_PAYLOAD} are allowed"
    if not all(
        _is_attachment(packet) if packet[:1] == "b" else _POLLING_PACKET.fullmatch(packet) for packet in packets
    ):
        return "not an Engine.IO packet"
    return ""


def _is_attachment(packet: str) -> bool:
    try:
        base64.b64decode(packet[1:], validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
