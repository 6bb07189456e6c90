"""An event as a packet, made once however many clients it goes to."""

import sys
from collections.abc import Callable

from sophon_hosting.events.frame import Frame
from sophon_hosting.hub.packets import event_text

Message = Callable[[str], object]
"""Makes a message of Engine.IO, which keeps its own encoding, of a packet."""


class Encoded:
    """A frame and its packet in each namespace, made when first asked for."""

    __slots__ = ("_message", "_messages", "_texts", "frame", "size")

    def __init__(self, frame: Frame, message: Message) -> None:
        self.frame, self._message = frame, message
        self._texts: dict[str, str] = {}
        self._messages: dict[str, object] = {}
        self.size = sys.getsizeof(frame.text())
        """Bytes that the packet takes up in memory, about."""

    def text(self, namespace: str) -> str:
        """The packet."""
        text = self._texts.get(namespace)
        if text is None:
            text = self._texts[namespace] = event_text(namespace, self.frame.text())
        return text

    def packet(self, namespace: str) -> object:
        """The message that carries it."""
        message = self._messages.get(namespace)
        if message is None:
            message = self._messages[namespace] = self._message(self.text(namespace))
        return message


class Encoder:
    """Encodes frames. The feed tells one frame to all who hear it before the next: the last one is enough to keep."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self._last: Encoded | None = None

    def of(self, frame: Frame) -> Encoded:
        """The frame, encoded; the same for each client that is told of it."""
        last = self._last
        if last is None or last.frame is not frame:
            last = self._last = Encoded(frame, self.message)
        return last
