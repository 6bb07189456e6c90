"""A listener that keeps everything it hears."""

from typing import TypeVar

from sophon.events import Event

E = TypeVar("E", bound=Event)


class EventRecorder:
    """`Services(events=EventRecorder())`; `events` holds all of them in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event, /) -> None:
        """Keep it."""
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        """Those of one class, in order."""
        return [event for event in self.events if isinstance(event, kind)]
