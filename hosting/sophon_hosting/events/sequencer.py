"""Sequencer: number, store and publish the events of one session in order of emission.

Its transactions are also those of the session's turns: what a turn stores, and the events that tell of it, are stored
together (docs/decisions/0032-transactions-of-a-turn.md).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias, TypeVar

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.context.turn_log import no_events
from sophon.errors import NotFound
from sophon.events import Event, EventSink, ReasoningChunk, StreamChunk
from sophon.stores.events.contract import LoggedEvent
from sophon.stores.events.sql import EventLog
from sophon.stores.run_fence import RunFence, StaleRun
from sophon.stores.runs.contract import EventFactory, RunStore
from sophon.stores.unit_of_work import NO_WRITES, UnitOfWork
from sophon_hosting.events.elsewhere import EventsElsewhere
from sophon_hosting.events.pending_events import PendingEvents
from sophon_hosting.events.resume_deduplication import FINAL_EVENTS, EventDeduplicator
from sophon_hosting.events.run_fences import SessionFences
from sophon_hosting.events.staging import StagedPart, StagingArea
from sophon_hosting.events.stream_snapshots import StreamSnapshots, chunk_to_wire_events
from sophon_hosting.events.wire_event import EventListener, RowBuilder, WireEvent, to_logged_event, to_wire_event

log = logging.getLogger("sophon")

MAX_STORED_EVENTS = 5000
"""Number of newest events stored per session; older content remains in its messages and tasks."""

TRIM_INTERVAL_EVENTS = 500
"""Number of stored events between two trims of the log."""

WRITE_BEHIND_SECONDS = 0.02
"""Time that a durable event waits for a transaction of its turn that stores it as well."""

TRACE_SECONDS = 1.0
MAX_PENDING_TRACES = 1000
"""Time that traces wait for a transaction, and the number of newest ones that are kept while the store is unavailable.
"""

CHUNK_MERGE_SECONDS = 0.03
"""Chunks within this time after the last published one are merged. Source: reference/performance.md."""


class StoredResult(Protocol):
    """Result of a transaction with events: `seq` is the session's last event seq after it."""

    @property
    def seq(self) -> int: ...


R = TypeVar("R", bound=StoredResult)

Transaction: TypeAlias = Callable[[EventFactory, UnitOfWork], Awaitable[R]]
"""Stores the given events and the unit of work in its transaction."""

BuildEvents: TypeAlias = Callable[[int], Sequence[Event]]
"""Builds the events of a transaction from the seq of the last record that it adds to the session."""


@dataclass(frozen=True, slots=True)
class _Recorded:
    seq: int


class Reporter(Protocol):
    """What a sequencer needs of the exchange with other processes, for its session."""

    def admit(self, event: Event) -> bool:
        """Return whether an event that is not stored is of the newest start of its run."""
        ...

    def may_deliver(self, event: Event) -> bool:
        """Return whether listeners may get an event now; else they get it with what is missing before it."""
        ...

    def report(self, event: Event) -> None:
        """Tell the other processes of an event that is not stored; note an outcome."""
        ...

    async def publish_missing(self, seq: int) -> None:
        """Publish what is stored up to a seq; never raises."""
        ...

    def tell_stored(self, last: int, count: int) -> None:
        """Tell the other processes of stored events, the last of which has this seq."""
        ...


MakeElsewhere: TypeAlias = Callable[["SessionSequencer"], tuple[EventsElsewhere, Reporter]]
"""Makes what a sequencer needs where there are other processes."""


class SessionSequencer:
    """Sequencer of one session: the holder of `lock` stores and publishes events, so that none overtakes another.

    Durable events wait at most `WRITE_BEHIND_SECONDS` for a transaction that takes them with it, and traces
    `TRACE_SECONDS`; then they get one of their own. `runs` stores what is staged. `global_sink` receives every event
    after it was stored here, and so do `watchers`, the listeners to all sessions; `observers` receive those of other
    processes, too. `wake` is called when a transaction is due (`is_due`). Transactions carry the `fences` of the turns
    that run here; what a turn has emitted and staged is dropped once the store finds that it is continued elsewhere.
    """

    def __init__(
        self,
        session_id: str,
        events: EventLog,
        runs: RunStore,
        clock: Clock,
        global_sink: EventSink,
        watchers: Sequence[EventListener],
        wake: Callable[[], None],
        build_row: RowBuilder = to_logged_event,
        observers: Sequence[EventListener] = (),
        make_elsewhere: MakeElsewhere | None = None,
    ) -> None:
        self._build_row = build_row
        self._observers = observers
        self._session_id, self._log, self._runs, self._clock, self._wake = session_id, events, runs, clock, wake
        self._global_sink, self._watchers = global_sink, watchers
        self._merge_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._merge_until = 0.0
        self._pending = PendingEvents()
        self._traces: list[LoggedEvent] = []
        self._staging = StagingArea()
        self.fences = SessionFences()
        self._since_trim = 0
        self.is_due = False
        """Whether what is pending must be stored now."""
        self.lock = asyncio.Lock()
        self.listeners: dict[EventListener, str | None] = {}
        """Listeners with the owner for whose session each has subscribed; None if the owner does not matter."""
        self.deduplicator = EventDeduplicator()
        self.stream_snapshots = StreamSnapshots()
        self._reporter: Reporter | None = None
        self.elsewhere: EventsElsewhere | None = None
        """Events of other host processes; None without any."""
        if make_elsewhere is not None:
            self.elsewhere, self._reporter = make_elsewhere(self)
        self.flush_task: asyncio.Task[None] | None = None
        self.store_task: asyncio.Task[None] | None = None
        """Will store the parts that somebody waits for, and those that are staged until it does."""
        self.lock_user_count = 0
        """Number of tasks that hold `lock` or wait for it."""

    @property
    def has_pending(self) -> bool:
        """Whether events are pending, or anything is staged."""
        return bool(self._pending or self._traces or self._staging)

    @property
    def is_idle(self) -> bool:
        """Whether the sequencer has no state and can be discarded."""
        return not (
            self.has_pending
            or self.listeners
            or self.lock_user_count
            or len(self.fences)
            or len(self.deduplicator)
            or len(self.stream_snapshots)
            or (self.elsewhere is not None and len(self.elsewhere))
        )

    def push(self, event: Event) -> None:
        """Accept an event.

        A transient event with no pending ones before it is published at once; chunks may be merged first.
        """
        if self.fences.is_stale(event.task_id):
            return
        if not self.deduplicator.register(event) or self._pending.merge(event):
            return  # merged, so that chunks do not accumulate while the store is slow
        if event.is_trace:
            self._add_trace(event)
        if event.durable:
            self._pending.append(event)
            self._cancel_merge_timer()
            self._store_within(WRITE_BEHIND_SECONDS)
            if not self.lock.locked():
                self.publish_transient()
        elif self._pending or self.lock.locked():
            self._pending.append(event)
            self._cancel_merge_timer()
            if not self.lock.locked():
                self.publish_transient()
        elif not (isinstance(event, StreamChunk | ReasoningChunk) and self._delay_chunk(event)):
            self.publish(event)

    def stage(self, part: StagedPart) -> None:
        """Store a part with the next transaction; one that nobody waits for waits for it as a durable event does."""
        if part.run_id and self.fences.is_stale(part.run_id):
            part.settle(StaleRun(part.run_id, 0))
            return
        self._staging.add(part)
        if part.waiter is None:
            self._store_within(WRITE_BEHIND_SECONDS)

    async def flush(self) -> None:
        """Store and publish all that is pending; the caller must hold `lock`.

        Raises StoreError, and the events stay pending; NotFound if the session was deleted.
        """
        while self.has_pending:
            await self.commit(self._record)
        await self._trim()

    async def store_pending(self) -> None:
        """Store what is pending now in one transaction, and publish it; as `flush` otherwise."""
        self.is_due = False
        if self.has_pending:
            await self.commit(self._record)
        await self._trim()

    async def commit(
        self,
        write: Transaction[R],
        build_events: BuildEvents = no_events,
        *,
        is_stored: Callable[[R], bool] = lambda _: True,
        is_unique: bool = False,
    ) -> R:
        """Store all that is pending and staged, and further events, in the transaction of `write`; then publish them.

        The caller must hold `lock`. If it raises, the events stay pending. If the result says that nothing `is_stored`,
        they do, too, and the further events are dropped. With `is_unique`, further events that their task has emitted
        before are not emitted again. Raises StaleRun for a fence of the write itself; for those of turns that are
        pending here, what is theirs is dropped, and the rest is stored.
        """
        while True:
            try:
                return await self._commit(write, build_events, is_stored=is_stored, is_unique=is_unique)
            except StaleRun as error:
                if not self._drop_run(error):
                    raise

    def release_fence(self, fence: RunFence) -> None:
        """End the fence of a turn that has ended here, once nothing is pending any more."""
        self.fences.release(fence, is_needed=self.has_pending or self.lock.locked())

    def _drop_run(self, error: StaleRun) -> bool:
        """Drop what a stale start of a run has emitted and staged; return False if none of it is pending here."""
        if not self.fences.refuse(RunFence(error.run_id, error.start)):
            return False
        self._pending.remove_run(error.run_id)
        self._traces = [trace for trace in self._traces if trace.task_id != error.run_id]
        self._staging.refuse_run(error.run_id, error)
        self.stream_snapshots.discard(error.run_id)
        self.deduplicator.forget_task(error.run_id)
        return True

    async def _commit(
        self, write: Transaction[R], build_events: BuildEvents, *, is_stored: Callable[[R], bool], is_unique: bool
    ) -> R:
        self._cancel_timers()
        self.is_due = False
        pending, parts = list(self._pending), self._staging.take()
        traces, self._traces = self._traces, []
        durable = [event for event in pending if event.durable]
        rows = [self._build_row(event) for event in durable]
        new_events: list[Event] = []
        new_rows: list[LoggedEvent] = []

        def build_rows(last_record_seq: int) -> Sequence[LoggedEvent]:
            built = build_events(last_record_seq)
            new_events[:] = [each for each in built if self.deduplicator.is_new(each)] if is_unique else built
            new_rows[:] = [self._build_row(event) for event in new_events]
            return [*traces, *rows, *new_rows]

        stored = False
        try:
            result = await write(build_rows, self._build_unit(parts))
            stored = is_stored(result)
        except BaseException as error:
            self._staging.give_back(parts, error)
            raise
        finally:
            if not stored:
                self._traces[:0] = traces
                self._restart_timer()
        for part in parts:
            part.settle()
        if stored:
            self._assign_seqs([*durable, *new_events], result.seq)
            count = len(durable) + len(new_events)
            await self._publish_missing(result.seq, count)
            stored_rows = {id(event): row for event, row in zip(durable, rows, strict=True)}
            for _ in pending:
                event = self._pending.popleft()
                self.publish(event, stored_rows.get(id(event)))
            for event, row in zip(new_events, new_rows, strict=True):
                self.deduplicator.register(event)
                self.publish(event, row)
            self._tell_stored(result.seq, count)
        if not self.has_pending:
            self.fences.forget_released()
        return result

    def _build_unit(self, parts: Sequence[StagedPart]) -> UnitOfWork:
        fences = self.fences.list()
        if not (parts or fences):
            return NO_WRITES
        return UnitOfWork([part.write for part in parts if part.write is not None], fences)

    async def publish_stored(self, events: Sequence[Event], rows: Sequence[LoggedEvent], last: int) -> None:
        """Publish events that somebody else in this process has stored as `rows`; `last` is the seq of the last one."""
        self._assign_seqs(events, last)
        for event in events:
            self.deduplicator.register(event)
        await self._publish_missing(last, len(events))
        for event, row in zip(events, rows, strict=True):
            self.publish(event, row)
        self._tell_stored(last, len(events))

    def publish_transient(self) -> None:
        """Publish the transient events in front of the first durable one; nobody else may hold `lock`."""
        while (oldest := self._pending.oldest) is not None and not oldest.durable:
            self.publish(self._pending.popleft())

    def publish(self, event: Event, stored: LoggedEvent | None = None) -> None:
        """Pass the event to all listeners in order; a failing listener is logged and skipped.

        `stored` is the row of a durable event, whose large fields need not be cut again.
        """
        reporter, is_delivered = self._reporter, True
        if reporter is not None:
            if not event.durable and not reporter.admit(event):
                return  # of a start that another process has replaced
            is_delivered = reporter.may_deliver(event)
        self.stream_snapshots.record(event)
        if event.wire_name in FINAL_EVENTS:
            self.stream_snapshots.discard(event.task_id)
            self.deduplicator.forget_task(event.task_id)
        if reporter is not None:
            reporter.report(event)
        try:
            self._global_sink.emit(event)
        except Exception:
            log.exception("a listener failed on %s", event.wire_name)
        if not (self.listeners or self._watchers or self._observers):
            return
        live = [*self._observers, *self.listeners] if is_delivered else []
        for wire_event in to_wire_events(event, stored):
            _deliver([*self._watchers, *live], wire_event)

    def deliver(self, wire_event: WireEvent) -> None:
        """Pass an event of another process to those who listen to them, too."""
        _deliver([*self._observers, *self.listeners], wire_event)

    def note_elsewhere(self, row: LoggedEvent) -> None:
        """Note an event that another process has stored, so that a task which moves here is not reported twice."""
        self.deduplicator.note(row)
        if row.name in FINAL_EVENTS:
            self.deduplicator.forget_task(row.task_id)

    def deliver_streamed(self, event: Event) -> None:
        """Pass an event of another process that is not stored to those who listen to them, too."""
        if self.listeners or self._observers:
            for wire_event in to_wire_events(event, None):
                self.deliver(wire_event)

    async def _publish_missing(self, last: int, count: int) -> None:
        """Publish what others have stored before own events, the last of which has this seq."""
        if self._reporter is not None and count:
            await self._reporter.publish_missing(last - count)

    def _tell_stored(self, last: int, count: int) -> None:
        if self._reporter is not None and count:
            self._reporter.tell_stored(last, count)

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
        self._cancel_timers()
        self._pending.clear()
        self._traces.clear()
        self._staging.clear(NotFound("session", self._session_id))
        self.fences.clear()
        self.deduplicator = EventDeduplicator()
        self.stream_snapshots.clear()
        if self.elsewhere is not None:
            self.elsewhere.restart()

    def _assign_seqs(self, events: Sequence[Event], last: int) -> None:
        for seq, event in enumerate(events, start=last - len(events) + 1):
            event.seq = seq
        self._since_trim += len(events)

    def _delay_chunk(self, chunk: StreamChunk | ReasoningChunk) -> bool:
        """Delay a chunk to merge it with later ones, unless it is the first in a while. Return whether it waits."""
        loop = asyncio.get_running_loop()
        remaining_seconds = self._merge_until - loop.time()
        if not (self.listeners or self._reporter) or remaining_seconds <= 0:
            self._merge_until = loop.time() + CHUNK_MERGE_SECONDS
            return False
        self._pending.append(chunk)
        self._merge_timer = loop.call_later(remaining_seconds, self._publish_delayed)
        return True

    def _publish_delayed(self) -> None:
        self._merge_timer = None
        self._merge_until = asyncio.get_running_loop().time() + CHUNK_MERGE_SECONDS
        if not self.lock.locked():  # else its holder publishes them
            self.publish_transient()

    def _add_trace(self, event: Event) -> None:
        self._traces.append(replace(to_logged_event(event), at=self._clock.now(), is_trace=True))
        del self._traces[:-MAX_PENDING_TRACES]
        self._store_within(TRACE_SECONDS)

    async def _record(self, build_rows: EventFactory, unit: UnitOfWork) -> _Recorded:
        return _Recorded(await self._runs.record(self._session_id, unit, build_rows(0)))

    def _store_within(self, seconds: float) -> None:
        """Require a transaction after this time at the latest, unless one takes what is pending before."""
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        if self._write_timer is not None:
            if self._write_timer.when() <= at:
                return
            self._write_timer.cancel()
        self._write_timer = loop.call_at(at, self._require_transaction)

    def _restart_timer(self) -> None:
        if any(event.durable for event in self._pending) or self._staging:
            self._store_within(WRITE_BEHIND_SECONDS)
        elif self._traces:
            self._store_within(TRACE_SECONDS)

    def _require_transaction(self) -> None:
        self.is_due = True
        self._cancel_write_timer()
        self._wake()

    def _cancel_timers(self) -> None:
        self._cancel_merge_timer()
        self._cancel_write_timer()

    def _cancel_merge_timer(self) -> None:
        if self._merge_timer is not None:
            self._merge_timer.cancel()
            self._merge_timer = None

    def _cancel_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

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
