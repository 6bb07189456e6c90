"""One event as it goes over the wire."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sophon.events import Event
from sophon.stores.event_contracts import LoggedEvent


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Its name, and its payload as plain data; `seq` is None for what is gone when nobody listens.

    The same frame goes to every listener: whoever encodes it can keep the bytes by its identity.
    """

    name: str
    data: Mapping[str, Any]
    session_id: str
    task_id: str = ""
    seq: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As it stands in a replay."""
        return {"event": self.name, "data": dict(self.data)}


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
