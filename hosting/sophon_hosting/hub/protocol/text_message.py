"""Engine.IO message of one Socket.IO packet, encoded as UTF-8 once for all connections that send it."""

import engineio.packet  # type: ignore[import-untyped]

_MESSAGE: int = engineio.packet.MESSAGE  # pyright: ignore[reportUnknownMemberType] - the library is not typed


class TextMessage:
    """Message in Engine.IO's send queue, in place of the library's packet.

    The library's packet keeps the text twice as a string, and its WebSocket encodes it anew for every connection.
    """

    __slots__ = ("encoded",)

    packet_type = _MESSAGE
    binary = False

    def __init__(self, text: str) -> None:
        self.encoded = f"{_MESSAGE}{text}".encode("utf-8", "replace")
        """The message as a WebSocket sends it, in UTF-8."""

    def encode(self, b64: bool = False) -> "TextMessage | str":
        """Return the message for `EngineWebSocket.send`; with `b64`, which the polling transport sets, as text."""
        return self.encoded.decode() if b64 else self

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.encoded.__sizeof__()
