"""Sequencer: number, store and publish the events of one session in order of emission.

Its transactions are also those of the session's turns: what a turn stores, and the events that tell of it, are stored
together (docs/decisions/0032-transactions-of-a-turn.md).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field, replace
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from sophon.clock import Clock
from sophon.context.turn_log import no_events
from sophon.errors import NotFound
from sophon.events import Event, EventSink, ReasoningChunk, StreamChunk
from sophon.lazy_dataclass import dataclass
from sophon.stores.events.contract import EventLog, LoggedEvent
from sophon.stores.runs.contract import EventFactory, RunStore
from sophon.stores.runs.staged_writes import NOTHING_STAGED, StagedWrites
from sophon_hosting.events.large_chunks import chunk_to_wire_events
from sophon_hosting.events.pending_events import PendingEvents
from sophon_hosting.events.resume_deduplication import FINAL_EVENTS, EventDeduplicator
from sophon_hosting.events.staging import StagedPart, StagingArea, to_staged_writes
from sophon_hosting.events.stream_snapshots import StreamSnapshots
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

Write: TypeAlias = Callable[[EventFactory, StagedWrites], Awaitable[R]]
"""Stores the given events and staged writes in its transaction."""

BuildEvents: TypeAlias = Callable[[int], Sequence[Event]]
"""Builds the events of a transaction from the seq of the last record that it adds to the session."""


@dataclass(frozen=True, slots=True)
class _Recorded:
    seq: int


@dataclass(slots=True, eq=False)
class FirstCommit(Generic[R]):
    """A transaction that may be the first of its session, with the events that it stores."""

    build_events: BuildEvents
    write: Write[R]
    is_stored: Callable[[R], bool]
    result: asyncio.Future[R]
    build_row: RowBuilder
    events: list[Event] = field(default_factory=lambda: [])
    rows: list[LoggedEvent] = field(default_factory=lambda: [])

    def build_rows(self, last_record_seq: int) -> Sequence[LoggedEvent]:
        """Build the events, and return their rows."""
        self.events = list(self.build_events(last_record_seq))
        self.rows = [self.build_row(event) for event in self.events]
        return self.rows

    def settle(self, outcome: R | BaseException) -> None:
        """Tell who waits."""
        if self.result.done():
            return
        if isinstance(outcome, BaseException):
            self.result.set_exception(outcome)
        else:
            self.result.set_result(outcome)


class SessionSequencer:
    """Sequencer of one session: the holder of `lock` stores and publishes events, so that none overtakes another.

    Durable events wait at most `WRITE_BEHIND_SECONDS` for a transaction that takes them with it, and traces
    `TRACE_SECONDS`; then they get one of their own. `runs` stores what is staged. `global_sink` receives every event
    after it was stored, and so do `watchers`, the listeners to all sessions. `wake` is called when a transaction is
    due (`is_due`).
    """

    def __init__(
        self,
        session_id: str,
        events: EventLog,
        runs: RunStore | None,
        clock: Clock,
        global_sink: EventSink,
        watchers: Sequence[EventListener],
        wake: Callable[[], None],
        build_row: RowBuilder = to_logged_event,
    ) -> None:
        self._build_row = build_row
        self._session_id, self._log, self._runs, self._clock, self._wake = session_id, events, runs, clock, wake
        self._global_sink, self._watchers = global_sink, watchers
        self._merge_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._merge_until = 0.0
        self._pending = PendingEvents()
        self._traces: list[LoggedEvent] = []
        self._staging = StagingArea()
        self._since_trim = 0
        self.is_due = False
        """Whether what is pending must be stored now."""
        self.lock = asyncio.Lock()
        self.listeners: dict[EventListener, str | None] = {}
        """Listeners with the owner for whose session each has subscribed; None if the owner does not matter."""
        self.deduplicator = EventDeduplicator()
        self.stream_snapshots = StreamSnapshots()
        self.first_commits: list[FirstCommit[Any]] = []
        """Transactions that wait for `lock`, in their order."""
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
            or len(self.deduplicator)
            or len(self.stream_snapshots)
        )

    def push(self, event: Event) -> None:
        """Accept an event.

        A transient event with no pending ones before it is published at once; chunks may be merged first.
        """
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
        write: Write[R],
        build_events: BuildEvents = no_events,
        *,
        is_stored: Callable[[R], bool] = lambda _: True,
        is_unique: bool = False,
    ) -> R:
        """Store all that is pending and staged, and further events, in the transaction of `write`; then publish them.

        The caller must hold `lock`. If it raises, the events stay pending. If the result says that nothing `is_stored`,
        they do, too, and the further events are dropped. With `is_unique`, further events that their task has emitted
        before are not emitted again.
        """
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
            result = await write(build_rows, to_staged_writes(parts))
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
            stored_rows = {id(event): row for event, row in zip(durable, rows, strict=True)}
            for _ in pending:
                event = self._pending.popleft()
                self.publish(event, stored_rows.get(id(event)))
            for event, row in zip(new_events, new_rows, strict=True):
                self.deduplicator.register(event)
                self.publish(event, row)
        return result

    async def commit_first(self) -> None:
        """Store what is pending, then write all `first_commits` concurrently, in their order, and publish their events.

        The caller must hold `lock`. The errors go to who waits.
        """
        batch, self.first_commits = self.first_commits, []
        try:
            await self._flush_earlier()
            outcomes = await asyncio.gather(
                *(first.write(first.build_rows, NOTHING_STAGED) for first in batch), return_exceptions=True
            )
        except BaseException as error:
            for first in batch:
                first.settle(error)
            if not isinstance(error, Exception):
                raise
            return
        for first, outcome in zip(batch, outcomes, strict=True):
            if not isinstance(outcome, BaseException) and first.is_stored(outcome):
                self._assign_seqs(first.events, outcome.seq)
                for event, row in zip(first.events, first.rows, strict=True):
                    self.deduplicator.register(event)
                    self.publish(event, row)
            first.settle(outcome)

    async def _flush_earlier(self) -> None:
        try:
            await self.flush()
        except NotFound:
            self.clear()

    def publish_stored(self, events: Sequence[Event], rows: Sequence[LoggedEvent], last: int) -> None:
        """Publish events that were stored elsewhere as `rows`; `last` is the seq of the last one."""
        self._assign_seqs(events, last)
        for event, row in zip(events, rows, strict=True):
            self.publish(event, row)

    def publish_transient(self) -> None:
        """Publish the transient events in front of the first durable one; nobody else may hold `lock`."""
        while (oldest := self._pending.oldest) is not None and not oldest.durable:
            self.publish(self._pending.popleft())

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
        self._cancel_timers()
        self._pending.clear()
        self._traces.clear()
        self._staging.clear(NotFound("session", self._session_id))
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

    async def _record(self, build_rows: EventFactory, staged: StagedWrites) -> _Recorded:
        rows = build_rows(0)
        if staged is NOTHING_STAGED:
            return _Recorded(await self._log.append(self._session_id, rows) if rows else 0)
        assert self._runs is not None
        return _Recorded(await self._runs.record(self._session_id, staged, rows))

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


def to_wire_events(event: Event, stored: LoggedEvent | None) -> Sequence[WireEvent]:
    """Return the wire events of an event: one, except for a large chunk."""
    if isinstance(event, StreamChunk | ReasoningChunk):
        return chunk_to_wire_events(event)
    return [to_wire_event(event, stored)]
