"""Wire event: the serialized form of an event, sent to listeners and in replays."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson

from sophon.events import Event
from sophon.stores.events.contract import LoggedEvent


@dataclass(frozen=True, slots=True, eq=False)
class WireEvent:
    """Event with its wire name and JSON payload; `seq` is None for a transient event.

    All listeners receive the same object; its JSON is encoded once and cached.
    """

    name: str
    data: Mapping[str, Any]
    session_id: str
    task_id: str = ""
    seq: int | None = None
    _text: list[str] = field(default_factory=lambda: [], init=False, repr=False)

    def encode(self) -> str:
        """Return the JSON array of name and payload."""
        if not self._text:
            self._text.append(encode_json([self.name, self.data]))
        return self._text[0]

    def to_json(self) -> dict[str, Any]:
        """Return the event as in a replay: `{"event", "data"}`."""
        return {"event": self.name, "data": dict(self.data)}


def encode_json(value: Any) -> str:
    """Encode JSON data; a lone surrogate, which a model can produce, becomes an escape sequence."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"))


EventListener: TypeAlias = Callable[[WireEvent], None]
"""Callback for events; it is called in order and must not block."""


def to_wire_event(event: Event) -> WireEvent:
    """Return the wire event of an event; a durable event must already have its `seq`."""
    return WireEvent(event.wire_name, event.to_wire(), event.session_id, event.task_id, event.seq)


def wire_event_from_log(session_id: str, logged: LoggedEvent) -> WireEvent:
    """Return the wire event of a stored event."""
    return WireEvent(logged.name, {**logged.data, "seq": logged.seq}, session_id, logged.task_id, logged.seq)


def to_logged_event(event: Event) -> LoggedEvent:
    """Return the event as a row for the event log, which assigns the `seq`."""
    return LoggedEvent(event.wire_name, event.to_wire(), event.task_id)
