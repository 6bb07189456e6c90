"""Event committers: publish events that are stored in one transaction with what they report."""

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

from sophon.events import Emit, Event
from sophon_hosting.events.session_transactions import EventTransaction
from sophon_hosting.store.events.logged_event import LoggedEvent

T = TypeVar("T")


@runtime_checkable
class EventCommitter(Protocol):
    """Publishes events that are stored together with what they report; the event bus of a host is one."""

    async def commit_events(self, session_id: str, write: EventTransaction[T]) -> T:
        """Let `write` store the rows that it has built, then publish their events. Raises its errors.

        `write` returns its result and the session's last event seq, None if it has stored no events.
        """
        ...


class EmittingCommitter:
    """Emits events after the write, and stores none: for a chain without a host, which has no log to replay."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit

    async def commit_events(self, session_id: str, write: EventTransaction[T]) -> T:
        """See `EventCommitter.commit_events`."""
        reported: list[Event] = []

        def keep(events: Sequence[Event]) -> Sequence[LoggedEvent]:
            reported[:] = events
            return ()

        result, seq = await write(keep)
        for event in reported if seq is not None else ():
            self._emit(event)
        return result
