"""One event as it goes over the wire."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson

from sophon.events import Event
from sophon.stores.event_contracts import LoggedEvent


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Its name, and its payload as plain data; `seq` is None for what is gone when nobody listens.

    The same frame goes to every listener, and is encoded once for all of them.
    """

    name: str
    data: Mapping[str, Any]
    session_id: str
    task_id: str = ""
    seq: int | None = None
    _text: list[str] = field(default_factory=lambda: [], init=False, repr=False)

    def text(self) -> str:
        """As JSON: the name and the payload in an array."""
        if not self._text:
            self._text.append(encoded([self.name, self.data]))
        return self._text[0]

    def to_json(self) -> dict[str, Any]:
        """As it stands in a replay."""
        return {"event": self.name, "data": dict(self.data)}


def encoded(value: Any) -> str:
    """Plain data as JSON. Half a surrogate pair, which a model can produce, goes out as its escape."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"))


Listener: TypeAlias = Callable[[Frame], None]
"""Whoever hears frames; called in order, never waits."""


def frame_of(event: Event) -> Frame:
    """The frame of an event that has its number, if it is to have one."""
    return Frame(event.wire_name, event.to_wire(), event.session_id, event.task_id, event.seq)


def replayed(session_id: str, logged: LoggedEvent) -> Frame:
    """The frame of an event that was kept."""
    return Frame(logged.name, {**logged.data, "seq": logged.seq}, session_id, logged.task_id, logged.seq)


def row_of(event: Event) -> LoggedEvent:
    """An event as the log keeps it, which numbers it."""
    return LoggedEvent(event.wire_name, event.to_wire(), event.task_id)
