"""Sequencer: number, store and publish the events of one session in order of emission."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence

from sophon.events import Event, EventSink, ReasoningChunk, StreamChunk
from sophon.stores.events.contract import EventLog, LoggedEvent
from sophon_hosting.events.large_chunks import chunk_to_wire_events
from sophon_hosting.events.resume_deduplication import FINAL_EVENTS, EventDeduplicator
from sophon_hosting.events.stream_snapshots import StreamSnapshots
from sophon_hosting.events.wire_event import EventListener, WireEvent, to_logged_event, to_wire_event

log = logging.getLogger("sophon")

MAX_STORED_EVENTS = 5000
"""Number of newest events stored per session; older content remains in its messages and tasks."""

TRIM_INTERVAL_EVENTS = 500
"""Number of stored events between two trims of the log."""

CHUNK_MERGE_SECONDS = 0.03
"""Chunks within this time after the last published one are merged. Source: reference/performance.md."""


class SessionSequencer:
    """Sequencer of one session: the holder of `lock` stores and publishes events, so that none overtakes another.

    `global_sink` receives every event after it was stored, and so do `watchers`, the listeners to all sessions. `wake`
    is called when events are pending and must be flushed.
    """

    def __init__(
        self,
        session_id: str,
        events: EventLog,
        global_sink: EventSink,
        watchers: Sequence[EventListener],
        wake: Callable[[], None],
    ) -> None:
        self._session_id, self._log, self._wake = session_id, events, wake
        self._global_sink, self._watchers = global_sink, watchers
        self._timer: asyncio.TimerHandle | None = None
        self._merge_until = 0.0
        self._pending: deque[Event] = deque()
        self._since_trim = 0
        self.lock = asyncio.Lock()
        self.listeners: dict[EventListener, str | None] = {}
        """Listeners with the owner for whose session each has subscribed; None if the owner does not matter."""
        self.deduplicator = EventDeduplicator()
        self.stream_snapshots = StreamSnapshots()
        self.flush_task: asyncio.Task[None] | None = None
        self.lock_user_count = 0
        """Number of tasks that hold `lock` or wait for it."""

    @property
    def has_pending(self) -> bool:
        """Whether events are pending."""
        return bool(self._pending)

    @property
    def is_idle(self) -> bool:
        """Whether the sequencer has no state and can be discarded."""
        return not (
            self._pending
            or self.listeners
            or self.lock_user_count
            or len(self.deduplicator)
            or len(self.stream_snapshots)
        )

    def push(self, event: Event) -> None:
        """Accept an event.

        A transient event with no pending ones before it is published at once; chunks may be merged first.
        """
        if not self.deduplicator.register(event) or self._merge_chunk(event):
            return
        if event.durable or self._pending or self.lock.locked():
            self._pending.append(event)
            self._cancel_timer()
            self._wake()
        elif not (isinstance(event, StreamChunk | ReasoningChunk) and self._delay_chunk(event)):
            self.publish(event)

    async def flush(self) -> None:
        """Store and publish the pending events; the caller must hold `lock`.

        Raises StoreError, and the events stay pending; NotFound if the session was deleted.
        """
        self._cancel_timer()
        while self._pending:
            count = len(self._pending)
            durable = [event for event in self._pending if event.durable]
            rows = [to_logged_event(event) for event in durable]
            if durable:
                last = await self._log.append(self._session_id, rows)
                self._assign_seqs(durable, last)
            stored = {id(event): row for event, row in zip(durable, rows, strict=True)}
            for _ in range(count):
                event = self._pending.popleft()
                self.publish(event, stored.get(id(event)))
        await self._trim()

    def publish_stored(self, events: Sequence[Event], rows: Sequence[LoggedEvent], last: int) -> None:
        """Publish events that were stored elsewhere as `rows`; `last` is the seq of the last one."""
        self._assign_seqs(events, last)
        for event, row in zip(events, rows, strict=True):
            self.publish(event, row)

    def publish(self, event: Event, stored: LoggedEvent | None = None) -> None:
        """Pass the event to all listeners in order; a failing listener is logged and skipped.

        `stored` is the row of a durable event, whose large fields need not be cut again.
        """
        self.stream_snapshots.record(event)
        if event.wire_name in FINAL_EVENTS:
            self.stream_snapshots.discard(event.task_id)
            self.deduplicator.forget_task(event.task_id)
        try:
            self._global_sink.emit(event)
        except Exception:
            log.exception("a listener failed on %s", event.wire_name)
        wire_events = to_wire_events(event, stored) if self.listeners or self._watchers else ()
        for wire_event in wire_events:
            for listener in [*self._watchers, *self.listeners]:
                try:
                    listener(wire_event)
                except Exception:
                    log.exception("a listener failed on %s", event.wire_name)

    def end_subscriptions(self, last: Event) -> None:
        """Discard all state after the session was deleted, and unsubscribe all listeners after a last event."""
        self.clear()
        self.publish(last)
        self.listeners.clear()

    def drop_listeners_of_others(self, owner: str) -> None:
        """Unsubscribe the listeners that subscribed to a session of that id when it had another owner."""
        for listener, session_owner in list(self.listeners.items()):
            if session_owner not in (None, owner):
                del self.listeners[listener]

    def clear(self) -> None:
        """Discard all state after the session was deleted."""
        self._cancel_timer()
        self._pending.clear()
        self.deduplicator = EventDeduplicator()
        self.stream_snapshots = StreamSnapshots()

    def _assign_seqs(self, events: Sequence[Event], last: int) -> None:
        for seq, event in enumerate(events, start=last - len(events) + 1):
            event.seq = seq
        self._since_trim += len(events)

    def _delay_chunk(self, chunk: StreamChunk | ReasoningChunk) -> bool:
        """Delay a chunk to merge it with later ones, unless it is the first in a while. Return whether it waits."""
        loop = asyncio.get_running_loop()
        remaining_seconds = self._merge_until - loop.time()
        if not self.listeners or remaining_seconds <= 0:
            self._merge_until = loop.time() + CHUNK_MERGE_SECONDS
            return False
        self._pending.append(chunk)
        self._timer = loop.call_later(remaining_seconds, self._publish_delayed)
        return True

    def _publish_delayed(self) -> None:
        self._timer = None
        self._merge_until = asyncio.get_running_loop().time() + CHUNK_MERGE_SECONDS
        if self.lock.locked():
            self._wake()
        elif self._pending:
            self.publish(self._pending.popleft())

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _merge_chunk(self, event: Event) -> bool:
        """Merge a chunk into a pending one, so that chunks do not accumulate while the store is slow."""
        last = self._pending[-1] if self._pending else None
        if not (isinstance(event, StreamChunk | ReasoningChunk) and isinstance(last, StreamChunk | ReasoningChunk)):
            return False
        if not continues_chunk(last, event):
            return False
        last.text += event.text
        return True

    async def _trim(self) -> None:
        if self._since_trim >= TRIM_INTERVAL_EVENTS:
            self._since_trim = 0
            await self._log.trim(self._session_id, MAX_STORED_EVENTS)


def to_wire_events(event: Event, stored: LoggedEvent | None) -> Sequence[WireEvent]:
    """Return the wire events of an event: one, except for a large chunk."""
    if isinstance(event, StreamChunk | ReasoningChunk):
        return chunk_to_wire_events(event)
    return [to_wire_event(event, stored)]


def continues_chunk(last: Event, event: Event) -> bool:
    """Return whether an event is the next chunk of the same streamed text."""
    if (event.task_id, event.run_id) != (last.task_id, last.run_id):
        return False
    if isinstance(event, StreamChunk) and isinstance(last, StreamChunk):
        return event.epoch == last.epoch
    if isinstance(event, ReasoningChunk) and isinstance(last, ReasoningChunk):
        return event.reasoning_id == last.reasoning_id and event.offset == last.offset + len(last.text)
    return False
