"""Encoding of events as Socket.IO packets, once per event for all clients that receive it."""

import sys
from collections.abc import Callable

from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.hub.protocol.socketio_packets import encode_event_packet

EngineMessageFactory = Callable[[str], object]
"""Makes an Engine.IO message of packet text; the message object caches its own wire encoding."""


class EncodedEvent:
    """An event with its packet per namespace, encoded on first use and cached."""

    __slots__ = ("_make_message", "_messages", "_texts", "event", "size")

    def __init__(self, event: WireEvent, make_message: EngineMessageFactory) -> None:
        self.event, self._make_message = event, make_message
        self._texts: dict[str, str] = {}
        self._messages: dict[str, object] = {}
        self.size = sys.getsizeof(event.encode())
        """Approximate memory of the packet in bytes."""

    def packet_text(self, namespace: str) -> str:
        """Return the Socket.IO packet as text."""
        text = self._texts.get(namespace)
        if text is None:
            text = self._texts[namespace] = encode_event_packet(namespace, self.event.encode())
        return text

    def engine_message(self, namespace: str) -> object:
        """Return the Engine.IO message that carries the packet."""
        message = self._messages.get(namespace)
        if message is None:
            message = self._messages[namespace] = self._make_message(self.packet_text(namespace))
        return message


class EventEncoder:
    """Encoder of events with a cache of one: the event feed delivers an event to all its listeners before the next."""

    def __init__(self, make_message: EngineMessageFactory) -> None:
        self.make_message = make_message
        self._last: EncodedEvent | None = None

    def encode(self, event: WireEvent) -> EncodedEvent:
        """Return the encoded event; the same object for every client that receives the event."""
        last = self._last
        if last is None or last.event is not event:
            last = self._last = EncodedEvent(event, self.make_message)
        return last
