"""Encoding of events as Socket.IO packets, once per event for all clients that receive it."""

import sys
from collections.abc import Callable

from sophon_hosting.events.frame import Frame
from sophon_hosting.hub.packets import event_text

Message = Callable[[str], object]
"""Makes an Engine.IO message of packet text; the message object caches its own wire encoding."""


class Encoded:
    """An event with its packet per namespace, encoded on first use and cached."""

    __slots__ = ("_make_message", "_messages", "_texts", "event", "size")

    def __init__(self, event: Frame, message: Message) -> None:
        self.event, self._make_message = event, message
        self._texts: dict[str, str] = {}
        self._messages: dict[str, object] = {}
        self.size = sys.getsizeof(event.text())
        """Approximate memory of the packet in bytes."""

    def text(self, namespace: str) -> str:
        """Return the Socket.IO packet as text."""
        text = self._texts.get(namespace)
        if text is None:
            text = self._texts[namespace] = event_text(namespace, self.event.text())
        return text

    def packet(self, namespace: str) -> object:
        """Return the Engine.IO message that carries the packet."""
        message = self._messages.get(namespace)
        if message is None:
            message = self._messages[namespace] = self._make_message(self.text(namespace))
        return message


class Encoder:
    """Encoder of events with a cache of one: the event feed delivers an event to all its listeners before the next."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self._last: Encoded | None = None

    def of(self, event: Frame) -> Encoded:
        """Return the encoded event; the same object for every client that receives the event."""
        last = self._last
        if last is None or last.event is not event:
            last = self._last = Encoded(event, self.message)
        return last
