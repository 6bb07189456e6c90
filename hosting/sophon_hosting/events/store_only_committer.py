"""Event committer of a process without an event bus: stores events with what they report, for later replays."""

from typing import TypeVar

from sophon.events import Event
from sophon_hosting.events.session_transactions import EventTransaction
from sophon_hosting.events.wire_event import to_logged_event

T = TypeVar("T")


class StoredEvents:
    """Lets a write store its events; nobody listens in this process."""

    def emit(self, event: Event, /) -> None:
        """Drop an event that nobody listens to."""

    async def commit_events(self, session_id: str, write: EventTransaction[T]) -> T:
        """See `EventBus.commit_events`."""
        result, _ = await write(lambda events: [to_logged_event(event) for event in events])
        return result
