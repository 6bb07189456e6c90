"""Event sink that records every event."""

from typing import TypeVar, cast

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
        """Return the recorded events of one class, in order. Raises TypeError for any other kind."""
        # Not only `isinstance` below: without any event it would never run.
        wanted = cast(object, kind)
        if isinstance(wanted, str) or (isinstance(wanted, type) and not issubclass(wanted, Event)):
            raise TypeError(f"of({kind!r:.60}): write a class of sophon.events, such as of(TaskFailed)")
        return [event for event in self.events if isinstance(event, kind)]
