"""Encoding of events as Engine.IO messages, once per event for all clients that receive it."""

import asyncio
import sys
from collections.abc import Callable
from typing import TypeAlias

from sophon_hosting.client_api.history_view import HistoryView
from sophon_hosting.client_api.scoped_session_ids import to_client_event, to_client_session_id
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.hub.protocol.socketio_packets import encode_event_packet

EngineMessageFactory = Callable[[str], object]
"""Makes an Engine.IO message of packet text."""

EncodingKey: TypeAlias = str | tuple[str, HistoryView, bool]

MAX_CACHED_BYTES = 16 * 1024
"""Size of an event from which it is cached only while it is delivered; a smaller one, until the next event."""


class EncodedEvent:
    """An event with its Engine.IO message per namespace, encoded on first use and cached."""

    __slots__ = ("_make_message", "_messages", "event", "size")

    def __init__(self, event: WireEvent, make_message: EngineMessageFactory) -> None:
        self.event, self._make_message = event, make_message
        self._messages: dict[str, object] = {}
        self.size = sys.getsizeof(event.encode())
        """Approximate memory of the packet in bytes."""

    def engine_message(self, namespace: str) -> object:
        """Return the Engine.IO message that carries the packet; the same object for all clients of a namespace."""
        message = self._messages.get(namespace)
        if message is None:
            text = encode_event_packet(namespace, self.event.encode())
            message = self._messages[namespace] = self._make_message(text)
        return message


class EventEncoder:
    """Encoder of events with a cache of one: the event feed delivers an event to all its listeners before the next.

    The event of a scoped session has one encoding for its owner and one for operators; see `scoped_session_ids`.
    """

    def __init__(self, make_message: EngineMessageFactory) -> None:
        self.make_message = make_message
        self._last: WireEvent | None = None
        self._encoded: dict[EncodingKey, EncodedEvent] = {}
        """Encodings of `_last` by the session id that the user knows, and what of the event the client sees."""

    def encode(
        self, event: WireEvent, user_id: str = "", view: HistoryView | None = None, *, is_own: bool = False
    ) -> EncodedEvent:
        """Return the encoded event as a user knows it; the same object for every client that receives the same.

        `view`: of a client that does not see everything; `is_own`: the session is the user's.
        """
        if self._last is not event:
            self._last, self._encoded = event, {}
        session_id = to_client_session_id(event.session_id, user_id)
        key = session_id if view is None else (session_id, view, is_own)
        encoded = self._encoded.get(key)
        if encoded is None:
            shown = event if view is None else view.wire_event(event, is_own=is_own)
            encoded = self._encoded[key] = EncodedEvent(to_client_event(shown, user_id), self.make_message)
            if encoded.size > MAX_CACHED_BYTES:
                asyncio.get_running_loop().call_soon(self._forget, event)
        return encoded

    def _forget(self, event: WireEvent) -> None:
        if self._last is event:
            self._last, self._encoded = None, {}
