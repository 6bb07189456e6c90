"""Sequencer: store and publish the events of one session in order of emission.

Durable events are published once a transaction has stored them, transient ones in their place between these; chunks
that come fast are merged.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TypeVar

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.events import Event, ReasoningChunk, StreamChunk
from sophon.failure_log import log_failure
from sophon.stores.run_fence import RunFence, StaleRun
from sophon.stores.unit_of_work import UnitOfWork, Write
from sophon_hosting.events.pending_events import EventBatch, PendingEvents
from sophon_hosting.events.publisher import SessionPublisher
from sophon_hosting.events.session_fences import FencedStart, SessionFences
from sophon_hosting.events.session_transactions import BuildRows, EventTransaction, Stored, Transaction
from sophon_hosting.events.staged_writes import OnSettled, StagedWrite, StagedWrites
from sophon_hosting.events.wire_event import RowBuilder, to_logged_event
from sophon_hosting.store.events.sql import EventLog
from sophon_hosting.store.runs.contract import RunStore

log = logging.getLogger("sophon")

MAX_STORED_EVENTS = 5000
"""Number of newest events stored per session; older content remains in its messages and tasks."""

TRIM_INTERVAL_EVENTS = 500
"""Number of stored events between two trims of the log."""

CHUNK_MERGE_SECONDS = 0.03
"""Chunks within this time after the last published one are merged."""

WRITE_BEHIND_SECONDS = 0.02
"""Time that a durable event waits for a transaction of its turn that stores it as well."""

TRACE_SECONDS = 1.0
"""Time that traces wait for a transaction."""

INITIAL_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 8.0
"""Back-off between two attempts to store what is pending."""

T = TypeVar("T")


class SessionSequencer:
    """Sequencer of one session: the holder of `lock` stores events, and `publisher` publishes them, in their order.

    Each transaction has the `fences` of the turns that run here, all that is staged, all events that are pending, and
    what its caller adds. One is due if somebody waits for it (`store`), or none has come within `WRITE_BEHIND_SECONDS`
    (traces: `TRACE_SECONDS`). `on_idle` is called when the sequencer can be discarded.
    """

    def __init__(
        self,
        session_id: str,
        events: EventLog,
        runs: RunStore,
        clock: Clock,
        publisher: SessionPublisher,
        on_idle: Callable[["SessionSequencer"], None],
        build_row: RowBuilder = to_logged_event,
    ) -> None:
        self._session_id, self._log, self._runs, self._clock = session_id, events, runs, clock
        self._on_idle, self._build_row = on_idle, build_row
        self.publisher = publisher
        self.lock = asyncio.Lock()
        self.lock_user_count = 0
        """Number of tasks that hold `lock` or wait for it."""
        self.fences = SessionFences()
        self._pending = PendingEvents()
        self._staging = StagedWrites()
        self._since_trim = 0
        self._merge_timer: asyncio.TimerHandle | None = None
        self._merge_until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        """Will require a transaction."""
        self._is_due = False
        """Whether what is pending must be stored now."""
        self._staged_task: asyncio.Task[None] | None = None
        """Will store the parts that somebody waits for, and those that are staged until it does."""
        self._due_task: asyncio.Task[None] | None = None
        self._is_retrying = False

    @property
    def must_store(self) -> bool:
        """Whether durable events or traces are pending, or anything is staged: transient events need no transaction."""
        return bool(self._pending.durable_count or self._pending.traces or self._staging.parts)

    @property
    def has_pending(self) -> bool:
        """Whether events are pending, or anything is staged."""
        return bool(self._pending.events) or self.must_store

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
        if self.lock_user_count or self.has_pending:
            return
        self.fences.forget_released()  # also if whoever held the lock has stored nothing
        if not (self.fences or self._is_retrying or self.publisher.has_state):
            self._on_idle(self)

    def push(self, event: Event) -> None:
        """Accept an event.

        A transient event with no pending ones before it is published at once; chunks may be merged first. Raises
        TypeError or ValueError for a durable one or a trace that JSON cannot encode; it is left out.
        """
        if (start := self.fences.get(event.task_id)) is not None and start.is_stale:
            return
        # Before it is pending: the transactions of the session, all of which would take it, must not fail for it.
        row = self._build_row(event) if event.durable else None
        if not self.publisher.deduplicator.register(event):
            return
        is_chunk = isinstance(event, StreamChunk | ReasoningChunk)
        if is_chunk and self._pending.merge(event):
            return  # so that chunks do not accumulate while the store is slow
        if event.is_trace:
            self._pending.add_trace(replace(to_logged_event(event), at=self._clock.now(), is_trace=True))
            self._store_soon(TRACE_SECONDS)
        if event.durable or self._pending.events or self.lock.locked():
            self._pending.append(event, row)
            if event.durable:
                self._store_soon(WRITE_BEHIND_SECONDS)
            if not self.lock.locked():
                self.publish_transient()
        elif not (is_chunk and self._delay_chunk(event)):
            self.publisher.publish(event)

    def fence(self, fence: RunFence, on_stale: Callable[[], None]) -> None:
        """Fence what a start of a run emits and stages, until `release_fence`.

        `on_stale` is called when the store finds that the run was continued elsewhere; what the start has emitted and
        staged, and all that is known of it here, is dropped then.
        """
        self.fences[fence.run_id] = FencedStart(fence, on_stale)

    def release_fence(self, fence: RunFence) -> None:
        """End the fence of a turn that has ended; what it has left pending still carries it."""
        start = self.fences.get(fence.run_id)
        if start is not None and start.fence == fence:
            start.is_released = True
            if start.is_stale:
                del self.fences[fence.run_id]
        self.discard_if_idle()

    def stage(
        self, write: Write, on_settled: OnSettled | None = None, waiter: asyncio.Future[None] | None = None
    ) -> StagedWrite:
        """Store a part of a run's turn with the session's next transaction; unless somebody waits for the part, that
        follows as soon as for a durable event.
        """
        part = StagedWrite(write, waiter, on_settled)
        if (start := self.fences.get(write.run_id)) is not None and start.is_stale:
            part.settle(StaleRun(write.run_id, 0))
            return part
        self._staging.parts.append(part)
        if waiter is None:
            self._store_soon(WRITE_BEHIND_SECONDS)
        return part

    async def store(self, write: Write) -> None:
        """Store a part of a run's turn now, together with all that is staged and pending; the caller does not hold the
        lock.

        It is stored even if the caller is cancelled. Raises the errors of the store, StaleRun if the run was continued
        elsewhere.
        """
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.stage(write, waiter=waiter)
        self._is_due = True
        if self._staged_task is None:
            self._staged_task = asyncio.create_task(self._store_staged())
        await waiter  # not for the lock: those of one transaction go on at the same time, and share the next one

    async def commit(self, write: Transaction[T]) -> T:
        """Let `write` store fences, staged writes, pending events and its own in one transaction, then publish these.

        If it raises, or stores no events, they stay pending. Raises StaleRun for a fence of the write itself; for those
        of turns that run here, what is theirs is dropped, and the rest is stored. The caller holds the lock.
        """
        pending, staging = self._pending, self._staging
        while True:
            self._cancel_timer()
            self._is_due, self._staged_task = False, None  # what is staged from now on is not part of it
            batch = pending.begin_batch(self._build_row, self.publisher.deduplicator.is_new)
            parts = list(staging.parts)
            staging.parts.clear()
            unit = UnitOfWork(
                [part.write for part in parts if part.write is not None],
                [start.fence for start in self.fences.values() if not start.is_stale],
            )
            try:
                result, seq = await write(batch.build_rows, unit)
                break
            except BaseException as error:
                staging.give_back(parts, error)
                self._keep(batch)
                if not (isinstance(error, StaleRun) and self._drop_run(error)):
                    raise
        for part in parts:
            part.settle()
        if seq is None:
            self._keep(batch)
        else:
            await self._publish_batch(batch, seq)
        if not self.has_pending:
            self.fences.forget_released()
        return result

    async def commit_events(self, write: EventTransaction[T]) -> T:
        """Store what is pending, let `write` store nothing but its own events and what they report, then publish these.

        What is pending in a session that was deleted is dropped: `write` may begin a new one of that id. The caller
        holds the lock.
        """
        try:
            await self.flush()
        except NotFound:
            self.clear()
        batch = EventBatch(self._build_row, self.publisher.deduplicator.is_new)
        result, seq = await write(batch.build_rows)
        if seq is not None:
            await self._publish_batch(batch, seq)
        return result

    async def flush(self) -> None:
        """Store and publish all that is pending; the caller must hold `lock`.

        Raises StoreError, and the events stay pending; NotFound if the session was deleted.
        """
        while self.must_store:
            await self.commit(self._record)
        self.publish_transient()
        if self._since_trim >= TRIM_INTERVAL_EVENTS:
            await self._trim()

    def publish_transient(self) -> None:
        """Publish the transient events in front of the first durable one; nobody else may hold `lock`."""
        if self._merge_timer is not None:
            self._merge_timer.cancel()
            self._merge_timer = None
        pending = self._pending
        while pending.events and not pending.events[0][0].durable:
            self.publisher.publish(pending.popleft())

    def end_subscriptions(self, last: Event, *, is_elsewhere: bool = False) -> None:
        """Discard all state after the session was deleted, and unsubscribe all listeners after a last event.

        `is_elsewhere`: by another process.
        """
        self.clear()
        if is_elsewhere:
            self.publisher.deliver_streamed(last)
        else:
            self.publisher.publish(last)
        self.publisher.listeners.clear()

    def clear(self) -> None:
        """Drop all that is pending, staged and known after the session was deleted."""
        self._cancel_timer()
        self._pending.clear()
        self._staging.clear(NotFound("session", self._session_id))
        self.fences.clear()
        self.publisher.clear()

    async def aclose(self) -> None:
        """Try no longer what the store refuses."""
        if self._due_task is not None:
            self._due_task.cancel()
            with suppress(asyncio.CancelledError):
                await self._due_task

    async def _publish_batch(self, batch: EventBatch, last: int) -> None:
        """Number what a transaction has stored, and publish it after what other processes have stored before it."""
        publisher, elsewhere = self.publisher, self.publisher.elsewhere
        count = batch.number(last)
        self._since_trim += count
        if elsewhere is not None and count:
            await elsewhere.publish_missing(last - count)
        for _, row in batch.pending:
            publisher.publish(self._pending.popleft(), row)
        for event, row in batch.reported:
            publisher.deduplicator.register(event)
            publisher.publish(event, row)
        if elsewhere is not None and count:
            elsewhere.tell_stored(last, count)

    def _keep(self, batch: EventBatch) -> None:
        """Keep what a transaction has not stored for the next one."""
        self._pending.traces[:0] = batch.traces
        if self._pending.durable_count or self._staging.parts:
            self._store_soon(WRITE_BEHIND_SECONDS)
        elif self._pending.traces:
            self._store_soon(TRACE_SECONDS)

    def _drop_run(self, error: StaleRun) -> bool:
        """Drop what a stale start of a run has emitted and staged; return False if none of it is pending here."""
        start = self.fences.refuse(RunFence(error.run_id, error.start))
        if start is None:
            return False
        self.publisher.forget_task(error.run_id)
        start.on_stale()
        self._pending.remove_run(error.run_id)
        self._staging.refuse_run(error.run_id, error)
        return True

    def _store_soon(self, seconds: float) -> None:
        """Require a transaction within so many seconds, unless one takes what is pending before."""
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._require_transaction)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _require_transaction(self) -> None:
        self._timer = None
        self._is_due = True
        if self._due_task is None:
            self._due_task = asyncio.create_task(self._store_while_due())

    async def _store_while_due(self) -> None:
        backoff_seconds = INITIAL_BACKOFF_SECONDS
        while self._is_due:
            try:
                await self._store_due()
                backoff_seconds = INITIAL_BACKOFF_SECONDS
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                message = "storing the events of session %s failed; retrying in %s s"
                log_failure(log, error, message, self._session_id, backoff_seconds)
                self._is_retrying = True
                await self._clock.sleep(backoff_seconds)
                self._is_retrying, self._is_due = False, True
                backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)
        self._due_task = None

    async def _store_staged(self) -> None:
        with suppress(Exception):  # who waits for a part gets the error; events stay pending
            await self._store_due()

    async def _store_due(self) -> None:
        """Store what is pending in one transaction, and publish it, if that is due."""
        async with self.hold():
            if not self._is_due:
                return
            self._is_due, self._staged_task = False, None
            try:
                if self.must_store:
                    await self.commit(self._record)
                if self._since_trim >= TRIM_INTERVAL_EVENTS:
                    await self._trim()
            except NotFound:
                self.clear()

    async def _record(self, build_rows: BuildRows, unit: UnitOfWork) -> Stored[None]:
        return None, await self._runs.record(self._session_id, unit, build_rows(()))

    async def _trim(self) -> None:
        self._since_trim = 0
        await self._log.trim(self._session_id, MAX_STORED_EVENTS)

    def _delay_chunk(self, chunk: Event) -> bool:
        """Delay a chunk to merge it with later ones, unless it is the first in a while. Return whether it waits."""
        loop = asyncio.get_running_loop()
        remaining_seconds = self._merge_until - loop.time()
        if not (self.publisher.listeners or self.publisher.elsewhere is not None) or remaining_seconds <= 0:
            self._merge_until = loop.time() + CHUNK_MERGE_SECONDS
            return False
        self._pending.append(chunk)
        self._merge_timer = loop.call_later(remaining_seconds, self._publish_delayed)
        return True

    def _publish_delayed(self) -> None:
        self._merge_until = asyncio.get_running_loop().time() + CHUNK_MERGE_SECONDS
        if not self.lock.locked():  # else its holder publishes them
            self.publish_transient()
