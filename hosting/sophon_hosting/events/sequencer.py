"""Sequencer: store and publish the events of one session in order of emission.

Durable events are published once a transaction has stored them (`session_transactions`), transient ones in their place
between these; chunks that come fast are merged.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeAlias

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.events import Event, EventSink, ReasoningChunk, StreamChunk, event_type
from sophon.stores.run_fence import RunFence
from sophon_hosting.events.pending_events import EventBatch, PendingEvents
from sophon_hosting.events.remote_events import RemoteEvents
from sophon_hosting.events.resume_deduplication import EventDeduplicator
from sophon_hosting.events.session_transactions import SessionTransactions
from sophon_hosting.events.stream_snapshots import StreamSnapshots, chunk_to_wire_events
from sophon_hosting.events.wire_event import EventListener, RowBuilder, WireEvent, to_logged_event, to_wire_event
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.events.sql import EventLog
from sophon_hosting.store.runs.contract import RunStore

log = logging.getLogger("sophon")

MAX_STORED_EVENTS = 5000
"""Number of newest events stored per session; older content remains in its messages and tasks."""

TRIM_INTERVAL_EVENTS = 500
"""Number of stored events between two trims of the log."""

CHUNK_MERGE_SECONDS = 0.03
"""Chunks within this time after the last published one are merged."""


MakeElsewhere: TypeAlias = Callable[[str, "SessionSequencer"], RemoteEvents]
"""Makes what a sequencer needs where there are other processes."""


class SessionSequencer:
    """Sequencer of one session: the holder of `lock` stores and publishes events, so that none overtakes another.

    Its `transactions`, on `runs`, store what is pending. `global_sink` receives every event after it was stored here,
    and so do `watchers`, the listeners to all sessions; `observers` receive those of other processes, too. `on_idle` is
    called when the sequencer can be discarded.
    """

    def __init__(
        self,
        session_id: str,
        events: EventLog,
        runs: RunStore,
        clock: Clock,
        global_sink: EventSink,
        watchers: Sequence[EventListener],
        on_idle: Callable[["SessionSequencer"], None],
        build_row: RowBuilder = to_logged_event,
        observers: Sequence[EventListener] = (),
        make_elsewhere: MakeElsewhere | None = None,
    ) -> None:
        self._observers = observers
        self._session_id, self._log, self._clock, self._on_idle = session_id, events, clock, on_idle
        self._global_sink, self._watchers = global_sink, watchers
        self._merge_timer: asyncio.TimerHandle | None = None
        self._merge_until = 0.0
        self.deduplicator = EventDeduplicator()
        self._build_row, self._pending = build_row, PendingEvents(build_row, self.deduplicator.is_new)
        self.transactions = SessionTransactions(
            session_id, runs, clock, self._pending, self._publish_stored, self._store_due
        )
        self._since_trim = 0
        self.lock = asyncio.Lock()
        self.listeners: dict[EventListener, str | None] = {}
        """Listeners with the owner for whose session each has subscribed; None if the owner does not matter."""
        self.stream_snapshots = StreamSnapshots()
        self.elsewhere = make_elsewhere(session_id, self) if make_elsewhere is not None else None
        """Events of other host processes; None without any."""
        self.lock_user_count = 0
        """Number of tasks that hold `lock` or wait for it."""

    @property
    def is_idle(self) -> bool:
        """Whether the sequencer has no state and can be discarded."""
        return self.transactions.is_idle and not (
            self.listeners
            or self.lock_user_count
            or len(self.deduplicator)
            or len(self.stream_snapshots)
            or (self.elsewhere is not None and len(self.elsewhere))
        )

    @asynccontextmanager
    async def hold(self) -> AsyncGenerator["SessionSequencer"]:
        """Hold `lock`; the transient events that came meanwhile are published before it is released."""
        self.lock_user_count += 1
        try:
            async with self.lock:
                try:
                    yield self
                finally:
                    self.publish_transient()
        finally:
            self.lock_user_count -= 1
            self.discard_if_idle()

    def discard_if_idle(self) -> None:
        """Call `on_idle` if the sequencer has no state."""
        if not (self.transactions.has_pending or self.lock_user_count):
            self.transactions.fences.forget_released()  # also if whoever held the lock has stored nothing
        if self.is_idle:
            self._on_idle(self)

    def push(self, event: Event) -> None:
        """Accept an event.

        A transient event with no pending ones before it is published at once; chunks may be merged first. Raises
        TypeError or ValueError for a durable one or a trace that JSON cannot encode; it is left out.
        """
        if self.transactions.fences.is_stale(event.task_id):
            return
        # Before it is pending: the transactions of the session, all of which would take it, must not fail for it.
        row = self._build_row(event) if event.durable else None
        if not self.deduplicator.register(event) or self._pending.merge(event):
            return  # merged, so that chunks do not accumulate while the store is slow
        if event.is_trace:
            self._pending.add_trace(replace(to_logged_event(event), at=self._clock.now(), is_trace=True))
            self.transactions.store_soon(is_trace=True)
        if event.durable or self._pending or self.lock.locked():
            self._pending.append(event, row)
            if event.durable:
                self.transactions.store_soon()
            if not self.lock.locked():
                self.publish_transient()
        elif not (isinstance(event, StreamChunk | ReasoningChunk) and self._delay_chunk(event)):
            self.publish(event)

    def fence(self, fence: RunFence, on_stale: Callable[[], None]) -> None:
        """Fence what a start of a run emits and stages; once the store finds it old, all that is known of it here is
        dropped, and `on_stale` called.
        """

        def drop() -> None:
            self.stream_snapshots.discard(fence.run_id)
            self.deduplicator.forget_task(fence.run_id)
            on_stale()

        self.transactions.fences.add(fence, drop)

    def release_fence(self, fence: RunFence) -> None:
        """End the fence of a turn that has ended here, once nothing is pending any more."""
        self.transactions.fences.release(fence, is_needed=self.transactions.has_pending or self.lock.locked())

    async def flush(self) -> None:
        """Store and publish all that is pending; the caller must hold `lock`.

        Raises StoreError, and the events stay pending; NotFound if the session was deleted.
        """
        while self.transactions.must_store:
            await self.transactions.store_pending()
        self.publish_transient()
        await self._trim()

    async def _store_due(self) -> None:
        """Store what is pending in one transaction, and publish it, if that is due."""
        async with self.hold():
            if not self.transactions.is_due:
                return
            try:
                await self.transactions.store_pending()
                await self._trim()
            except NotFound:
                self.clear()

    async def _publish_stored(self, batch: EventBatch, last: int) -> None:
        """Number what a transaction has stored, and publish it after what other processes have stored before it."""
        count = batch.number(last)
        self._since_trim += count
        if self.elsewhere is not None and count:
            await self.elsewhere.publish_missing(last - count)
        for _, row in batch.pending:
            self.publish(self._pending.popleft(), row)
        for event, row in batch.reported:
            self.deduplicator.register(event)
            self.publish(event, row)
        if self.elsewhere is not None and count:
            self.elsewhere.tell_stored(last, count)

    def publish_transient(self) -> None:
        """Publish the transient events in front of the first durable one; nobody else may hold `lock`."""
        if self._merge_timer is not None:
            self._merge_timer.cancel()
            self._merge_timer = None
        while (oldest := self._pending.oldest) is not None and not oldest.durable:
            self.publish(self._pending.popleft())

    def publish(self, event: Event, stored: LoggedEvent | None = None) -> None:
        """Pass the event to all listeners in order; a failing listener is logged and skipped.

        `stored` is the row of a durable event, whose large fields need not be cut again.
        """
        elsewhere = self.elsewhere
        if elsewhere is not None and not (event.durable or elsewhere.admit_own(event)):
            return  # of a start that another process has replaced
        is_delivered = elsewhere is None or elsewhere.may_deliver(event)
        self.stream_snapshots.record(event)
        if event.is_final:
            self.stream_snapshots.discard(event.task_id)
            self.deduplicator.forget_task(event.task_id)
        if elsewhere is not None:
            elsewhere.report(event)
        try:
            self._global_sink.emit(event)
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
            self.deduplicator.forget_task(row.task_id)

    def deliver_streamed(self, event: Event) -> None:
        """Pass an event of another process that is not stored to those who listen to them, too."""
        if self.listeners or self._observers:
            for wire_event in to_wire_events(event, None):
                self.deliver(wire_event)

    def end_subscriptions(self, last: Event, *, is_elsewhere: bool = False) -> None:
        """Discard all state after the session was deleted, and unsubscribe all listeners after a last event.

        `is_elsewhere`: by another process.
        """
        self.clear()
        if is_elsewhere:
            self.deliver_streamed(last)
        else:
            self.publish(last)
        self.listeners.clear()

    def drop_listeners_of_others(self, owner: str) -> None:
        """Unsubscribe the listeners that subscribed to a session of that id when it had another owner."""
        for listener, session_owner in list(self.listeners.items()):
            if session_owner not in (None, owner):
                del self.listeners[listener]

    def clear(self) -> None:
        """Discard all state after the session was deleted."""
        self.transactions.clear()
        self.deduplicator.clear()
        self.stream_snapshots.clear()
        if self.elsewhere is not None:
            self.elsewhere.restart()

    def _delay_chunk(self, chunk: StreamChunk | ReasoningChunk) -> bool:
        """Delay a chunk to merge it with later ones, unless it is the first in a while. Return whether it waits."""
        loop = asyncio.get_running_loop()
        remaining_seconds = self._merge_until - loop.time()
        if not (self.listeners or self.elsewhere is not None) or remaining_seconds <= 0:
            self._merge_until = loop.time() + CHUNK_MERGE_SECONDS
            return False
        self._pending.append(chunk)
        self._merge_timer = loop.call_later(remaining_seconds, self._publish_delayed)
        return True

    def _publish_delayed(self) -> None:
        self._merge_until = asyncio.get_running_loop().time() + CHUNK_MERGE_SECONDS
        if not self.lock.locked():  # else its holder publishes them
            self.publish_transient()

    async def _trim(self) -> None:
        if self._since_trim >= TRIM_INTERVAL_EVENTS:
            self._since_trim = 0
            await self._log.trim(self._session_id, MAX_STORED_EVENTS)


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
