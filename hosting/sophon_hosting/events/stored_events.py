"""Stored events: what a process without an event bus reports is stored with what it reports, for later replays."""

from sophon_hosting.events.event_bus import WriteEvents
from sophon_hosting.events.wire_event import to_logged_event


class StoredEvents:
    """Lets a write store its events; nobody listens in this process."""

    async def commit_events(self, session_id: str, write: WriteEvents) -> None:
        """See `EventBus.commit_events`."""
        await write(lambda events: [to_logged_event(event) for event in events])
