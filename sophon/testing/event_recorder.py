"""Event sink that records every event."""

from typing import TypeVar

from sophon.events import Event

E = TypeVar("E", bound=Event)


class EventRecorder:
    """Event sink for `Services(events=EventRecorder())`; `events` holds all events in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event, /) -> None:
        """Record the event."""
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        """Return the recorded events of one class, in order."""
        return [event for event in self.events if isinstance(event, kind)]
