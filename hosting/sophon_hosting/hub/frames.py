"""Engine.IO packets as a client sends them: which are none. The library's reader raises on those, outside of any guard.

Source: Engine.IO protocol, revision 4: a digit for the type (1 close, 2 ping, 3 pong, 4 message, 5 upgrade, 6 noop),
then data; a message is a Socket.IO packet here. Over polling up to 16 are joined by the sign 0x1E, and binary ones are
`b` and base64.
"""

import base64
import binascii
import re

MOST_PACKETS = 16
"""In one payload. Source: Engine.IO libraries of both sides."""

_SPOKEN = re.compile(r"4[0-9].*|[156]|[23](probe)?", re.DOTALL)
_POSTED = re.compile(r"4[0-9].*|[13]", re.DOTALL)
"""By polling a client neither pings nor upgrades; on a ping the library would wait for ever."""

_SEPARATOR = "\x1e"


def is_frame(message: str | bytes) -> bool:
    """Whether what came over a WebSocket is a packet; a binary one is the attachment of a message."""
    return isinstance(message, bytes) or _SPOKEN.fullmatch(message) is not None


def payload_problem(body: bytes) -> str:
    """Why the body of a polling request cannot be taken; empty if it can."""
    try:
        packets = body.decode().split(_SEPARATOR)
    except UnicodeDecodeError:
        return "the body is not UTF-8"
    if len(packets) > MOST_PACKETS:
        return f"there are {len(packets)} packets in one request, and at most {MOST_PACKETS} are taken"
    if not all(_is_attachment(packet) if packet[:1] == "b" else _POSTED.fullmatch(packet) for packet in packets):
        return "this is no Engine.IO packet"
    return ""


def _is_attachment(packet: str) -> bool:
    try:
        base64.b64decode(packet[1:], validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
