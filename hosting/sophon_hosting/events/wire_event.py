"""Wire event: the serialized form of an event, sent to listeners and in replays."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_list
from sophon.events import Event
from sophon_hosting.events.large_fields import LARGE_FIELD, cut_payload
from sophon_hosting.json_text import encode_json
from sophon_hosting.store.events.logged_event import LoggedEvent


@dataclass(frozen=True, slots=True, eq=False)
class WireEvent:
    """Event with its wire name and JSON payload; `seq` is None for a transient event.

    `data` is what clients receive, its large fields cut (`large_fields`); `whole` has the whole fields, for listeners
    in this process. All listeners receive the same object; its JSON is encoded once and cached.
    """

    name: str
    data: Mapping[str, Any]
    session_id: str
    task_id: str = ""
    seq: int | None = None
    uncut: Mapping[str, Any] | None = None
    _text: list[str] = field(default_factory=new_list, init=False, repr=False)

    @property
    def whole(self) -> Mapping[str, Any]:
        """The payload with whole fields; of an event from the log only the fields that are not large are whole."""
        return self.data if self.uncut is None else self.uncut

    def encode(self) -> str:
        """Return the JSON array of name and payload."""
        if not self._text:
            self._text.append(encode_json([self.name, self.data]))
        return self._text[0]

    def to_json(self) -> dict[str, Any]:
        """Return the event as in a replay: `{"event", "data"}`."""
        return {"event": self.name, "data": dict(self.data)}


EventListener: TypeAlias = Callable[[WireEvent], None]
"""Callback for events; it is called in order and must not block."""


RowBuilder: TypeAlias = Callable[[Event], LoggedEvent]
"""Builds the row of a durable event, with the outbound entries that are stored with it; see `to_logged_event`."""


def to_wire_event(event: Event, stored: LoggedEvent | None = None) -> WireEvent:
    """Return the wire event of an event; a durable event must already have its `seq`.

    `stored` is the row of a durable event, whose large fields were cut before.
    """
    if stored is None:
        whole = event.to_wire()
        data = cut_payload(whole, event.session_id).data
        uncut = None if data is whole else whole
    else:
        data = {**stored.data, "seq": event.seq}
        uncut = event.to_wire() if LARGE_FIELD in data else None
    return WireEvent(event.wire_name, data, event.session_id, event.task_id, event.seq, uncut)


def wire_event_from_log(session_id: str, logged: LoggedEvent) -> WireEvent:
    """Return the wire event of a stored event or trace; a trace has no seq."""
    if logged.is_trace:
        return WireEvent(logged.name, logged.data, session_id, logged.task_id)
    return WireEvent(logged.name, {**logged.data, "seq": logged.seq}, session_id, logged.task_id, logged.seq)


def to_logged_event(event: Event) -> LoggedEvent:
    """Return the event as a row for the event log, which assigns the `seq`."""
    cut = cut_payload(event.to_wire(), event.session_id)
    return LoggedEvent(event.wire_name, cut.data, event.task_id, texts=cut.texts)
