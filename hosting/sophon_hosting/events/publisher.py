"""Publisher of one session: passes its events to who listens, here and in other processes."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from sophon.events import Emit, Event, ReasoningChunk, StreamChunk, StreamReset, event_type
from sophon_hosting.events.remote_events import RemoteEvents
from sophon_hosting.events.resume_deduplication import EventDeduplicator
from sophon_hosting.events.stream_snapshots import StreamSnapshots, chunk_to_wire_events
from sophon_hosting.events.wire_event import EventListener, WireEvent, to_wire_event
from sophon_hosting.store.events.logged_event import LoggedEvent

log = logging.getLogger("sophon")

MakeElsewhere: TypeAlias = Callable[[str, "SessionPublisher"], RemoteEvents]
"""Makes what a publisher needs where there are other processes."""

EventTaps: TypeAlias = Mapping[type[Event], Sequence[Emit]]
"""What is called with each event that this process publishes: those of a class, and those of `Event`, with all."""


class SessionPublisher:
    """Publisher of one session, with what it knows of the session's unfinished tasks.

    `taps` receive events after they were stored here, and so do `watchers`, the listeners to all sessions; `observers`
    receive those of other processes, too.
    """

    def __init__(
        self,
        session_id: str,
        taps: EventTaps,
        watchers: Sequence[EventListener],
        observers: Sequence[EventListener] = (),
        make_elsewhere: MakeElsewhere | None = None,
    ) -> None:
        self._taps, self._watchers, self._observers = taps, watchers, observers
        self.listeners: dict[EventListener, str | None] = {}
        """Listeners with the owner for whose session each has subscribed; None if the owner does not matter."""
        self.deduplicator = EventDeduplicator()
        self.stream_snapshots = StreamSnapshots()
        self.elsewhere = make_elsewhere(session_id, self) if make_elsewhere is not None else None
        """Events of other host processes; None without any."""

    @property
    def has_state(self) -> bool:
        """Whether anybody listens, a task is unfinished, or something of another process waits."""
        known = self.deduplicator.published or self.stream_snapshots.replies
        return bool(self.listeners or known or self.elsewhere)

    def publish(self, event: Event, stored: LoggedEvent | None = None) -> None:
        """Pass the event to all listeners in order; a failing listener is logged and skipped.

        `stored` is the row of a durable event, whose large fields need not be cut again.
        """
        elsewhere = self.elsewhere
        if elsewhere is not None and not (event.durable or elsewhere.admit_own(event)):
            return  # of a start that another process has replaced
        is_delivered = elsewhere is None or elsewhere.may_deliver(event)
        if isinstance(event, StreamChunk | StreamReset):
            self.stream_snapshots.record(event)
        if event.is_final:
            self.forget_task(event.task_id)
        if elsewhere is not None:
            elsewhere.report(event)
        for tap in [*self._taps.get(type(event), ()), *self._taps.get(Event, ())]:
            try:
                tap(event)
            except Exception:
                log.exception("a listener failed on %s", event.wire_name)
        if not (self.listeners or self._watchers or self._observers):
            return
        live = [*self._observers, *self.listeners] if is_delivered else []
        try:
            wire_events = to_wire_events(event, stored)
        except Exception:  # its emitter is gone, and the events behind it must follow
            log.exception("%s cannot be sent", event.wire_name)
            return
        for wire_event in wire_events:
            _deliver([*self._watchers, *live], wire_event)

    def deliver(self, wire_event: WireEvent) -> None:
        """Pass an event of another process to those who listen to them, too."""
        _deliver([*self._observers, *self.listeners], wire_event)

    def note_elsewhere(self, row: LoggedEvent) -> None:
        """Note an event that another process has stored, so that a task which moves here is not reported twice."""
        self.deduplicator.note(row)
        if event_type(row.name).is_final:
            self.deduplicator.published.pop(row.task_id, None)

    def deliver_streamed(self, event: Event) -> None:
        """Pass an event of another process that is not stored to those who listen to them, too."""
        if self.listeners or self._observers:
            for wire_event in to_wire_events(event, None):
                self.deliver(wire_event)

    def drop_listeners_of_others(self, owner: str) -> None:
        """Unsubscribe the listeners that subscribed to a session of that id when it had another owner."""
        for listener, session_owner in list(self.listeners.items()):
            if session_owner not in (None, owner):
                del self.listeners[listener]

    def forget_task(self, task_id: str) -> None:
        """Forget what is known of a task that has its outcome, or that another process has continued."""
        self.stream_snapshots.replies.pop(task_id, None)
        self.deduplicator.published.pop(task_id, None)

    def clear(self) -> None:
        """Forget all tasks after the session was deleted; listeners stay."""
        self.deduplicator.published.clear()
        self.stream_snapshots.replies.clear()
        if self.elsewhere is not None:
            self.elsewhere.restart()


def _deliver(listeners: Sequence[EventListener], wire_event: WireEvent) -> None:
    for listener in listeners:
        try:
            listener(wire_event)
        except Exception:
            log.exception("a listener failed on %s", wire_event.name)


def to_wire_events(event: Event, stored: LoggedEvent | None) -> Sequence[WireEvent]:
    """Return the wire events of an event: one, except for a large chunk."""
    if isinstance(event, StreamChunk | ReasoningChunk):
        return chunk_to_wire_events(event)
    return [to_wire_event(event, stored)]
