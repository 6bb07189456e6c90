"""Transactions of one session: fences, writes and events of its turns are stored together, all or none.

Turns stage writes, and emit events, which wait in a queue. Whatever is stored next in the session takes all of them
with it: the beginning of a turn, its outcome, a call, or a transaction of their own that soon follows. So a turn
commits as often as it must, and an event is stored with what it tells of. See
docs/decisions/0032-transactions-of-a-turn.md.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeAlias, TypeVar

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.events import Event
from sophon.failure_log import log_failure
from sophon.stores.run_fence import RunFence, StaleRun
from sophon.stores.unit_of_work import UnitOfWork, Write
from sophon_hosting.events.pending_events import EventBatch, PendingEvents
from sophon_hosting.events.staged_writes import OnSettled, StagedWrite, StagedWrites
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import RunStore

log = logging.getLogger("sophon")

WRITE_BEHIND_SECONDS = 0.02
"""Time that a durable event waits for a transaction of its turn that stores it as well."""

TRACE_SECONDS = 1.0
"""Time that traces wait for a transaction."""

INITIAL_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 8.0
"""Back-off between two attempts to store what is pending."""

T = TypeVar("T")

BuildRows: TypeAlias = Callable[[Sequence[Event]], Sequence[LoggedEvent]]
"""Returns the rows that a transaction must append to the event log, given the events that it reports."""

Stored: TypeAlias = tuple[T, int | None]
"""Result of a transaction, and the session's last event seq after it; None if it has stored no events."""

Transaction: TypeAlias = Callable[[BuildRows, UnitOfWork], Awaitable[Stored[T]]]
"""Stores the unit of work and the rows in one transaction, with whatever it is for."""

EventTransaction: TypeAlias = Callable[[BuildRows], Awaitable[Stored[T]]]
"""Stores the rows in one transaction with what they report."""


@dataclass(slots=True)
class _Entry:
    fence: RunFence
    on_stale: Callable[[], None]
    is_released: bool = False
    is_stale: bool = False


class SessionFences:
    """Fences by run id, from the start of a turn until nothing that it has emitted or staged waits any more.

    Once the store has found one old, whatever else its turn emits and stages until it ends `is_stale`.
    """

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, fence: RunFence, on_stale: Callable[[], None]) -> None:
        """Fence what a start of a run emits and stages; `on_stale` is called once the store has refused it."""
        self._entries[fence.run_id] = _Entry(fence, on_stale)

    def release(self, fence: RunFence, *, is_needed: bool) -> None:
        """Forget the fence of a turn that has ended, now or, if it `is_needed`, with `forget_released`."""
        entry = self._entries.get(fence.run_id)
        if entry is not None and entry.fence == fence:
            entry.is_released = True
            if entry.is_stale or not is_needed:
                del self._entries[fence.run_id]

    def forget_released(self) -> None:
        """Forget the fences of turns that have ended; nothing of them waits any more."""
        self._entries = {run_id: entry for run_id, entry in self._entries.items() if not entry.is_released}

    def list(self) -> Sequence[RunFence]:
        """Return the fences that no store has refused."""
        return [entry.fence for entry in self._entries.values() if not entry.is_stale]

    def is_stale(self, run_id: str) -> bool:
        """Return whether the turn of a run that is still ending here was continued elsewhere."""
        entry = self._entries.get(run_id)
        return entry is not None and entry.is_stale

    def refuse(self, fence: RunFence) -> bool:
        """Note that the store has found a fence old, and tell its turn; return False if that is known, or the fence is
        not.
        """
        entry = self._entries.get(fence.run_id)
        if entry is None or entry.fence != fence or entry.is_stale:
            return False
        entry.is_stale = True
        if entry.is_released:
            del self._entries[fence.run_id]
        entry.on_stale()
        return True

    def clear(self) -> None:
        """Forget all fences."""
        self._entries.clear()


class SessionTransactions:
    """Transactions of one session, one after the other: who calls `commit...` or `store_pending` holds its lock.

    Each has the `fences` of the turns that run here, all that is staged, all that is `pending`, and what its caller
    adds. `publish` publishes what was stored, whose last event has the given seq. A transaction is due (`is_due`) if
    somebody waits for it (`store`), or none has come within `WRITE_BEHIND_SECONDS` (traces: `TRACE_SECONDS`);
    `store_due` takes the lock, and calls `store_pending` if one is due then.
    """

    def __init__(
        self,
        session_id: str,
        runs: RunStore,
        clock: Clock,
        pending: PendingEvents,
        publish: Callable[[EventBatch, int], Awaitable[None]],
        store_due: Callable[[], Awaitable[None]],
    ) -> None:
        self._session_id, self._runs, self._clock, self._pending = session_id, runs, clock, pending
        self._publish, self._store_due = publish, store_due
        self._staging = StagedWrites()
        self._timer: asyncio.TimerHandle | None = None
        self.fences = SessionFences()
        self.is_due = False
        """Whether what is pending must be stored now."""
        self._staged_task: asyncio.Task[None] | None = None
        """Will store the parts that somebody waits for, and those that are staged until it does."""
        self._due_task: asyncio.Task[None] | None = None
        self._is_retrying = False

    @property
    def has_pending(self) -> bool:
        """Whether events are pending, or anything is staged."""
        return bool(self._pending or self.must_store)

    @property
    def must_store(self) -> bool:
        """Whether durable events or traces are pending, or anything is staged: transient events need no transaction."""
        return bool(self._pending.has_durable or self._pending.traces or self._staging)

    @property
    def is_idle(self) -> bool:
        """Whether nothing will be stored unless something new comes."""
        return not (self.has_pending or len(self.fences) or self._is_retrying)

    def stage(
        self, write: Write, on_settled: OnSettled | None = None, waiter: asyncio.Future[None] | None = None
    ) -> StagedWrite:
        """Store a part with the next transaction; one that nobody waits for waits for it as a durable event does."""
        part = StagedWrite(write, waiter, on_settled)
        if self.fences.is_stale(write.run_id):
            part.settle(StaleRun(write.run_id, 0))
            return part
        self._staging.add(part)
        if waiter is None:
            self.store_soon()
        return part

    def store_soon(self, *, is_trace: bool = False) -> None:
        """Require a transaction soon, unless one takes what is pending before; for a trace, within a second."""
        loop = asyncio.get_running_loop()
        at = loop.time() + (TRACE_SECONDS if is_trace else WRITE_BEHIND_SECONDS)
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._require_transaction)

    async def store(self, write: Write) -> None:
        """Store a part of a run's turn now; the caller does not hold the lock. See `EventBus.store`."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.stage(write, waiter=waiter)
        self.is_due = True
        if self._staged_task is None:
            self._staged_task = asyncio.create_task(self._store_staged())
        await waiter  # not for the lock: those of one transaction go on at the same time, and share the next one

    async def store_pending(self) -> None:
        """Store what is pending and staged now in one transaction, if it `must_store`. Raises as `commit`."""
        self.is_due, self._staged_task = False, None
        if self.must_store:
            await self.commit(self._record)

    async def commit(self, write: Transaction[T]) -> T:
        """Let `write` store fences, staged writes, pending events and its own in one transaction, then publish these.

        If it raises, or stores no events, they stay pending. Raises StaleRun for a fence of the write itself; for those
        of turns that run here, what is theirs is dropped, and the rest is stored.
        """
        while True:
            self._cancel_timer()
            self.is_due, self._staged_task = False, None  # what is staged from now on is not part of it
            batch, parts = self._pending.begin_batch(), self._staging.take()
            unit = UnitOfWork([part.write for part in parts if part.write is not None], self.fences.list())
            try:
                result, seq = await write(batch.build_rows, unit)
                break
            except BaseException as error:
                self._staging.give_back(parts, error)
                self._keep(batch)
                if not (isinstance(error, StaleRun) and self._drop_run(error)):
                    raise
        for part in parts:
            part.settle()
        if seq is None:
            self._keep(batch)
        else:
            await self._publish(batch, seq)
        if not self.has_pending:
            self.fences.forget_released()
        return result

    async def commit_events(self, write: EventTransaction[T]) -> T:
        """Let `write` store nothing but its own events and what they report, then publish these."""
        batch = self._pending.begin_empty_batch()
        result, seq = await write(batch.build_rows)
        if seq is not None:
            await self._publish(batch, seq)
        return result

    async def _record(self, build_rows: BuildRows, unit: UnitOfWork) -> Stored[None]:
        return None, await self._runs.record(self._session_id, unit, build_rows(()))

    def _drop_run(self, error: StaleRun) -> bool:
        """Drop what a stale start of a run has emitted and staged; return False if none of it is pending here."""
        if not self.fences.refuse(RunFence(error.run_id, error.start)):
            return False
        self._pending.remove_run(error.run_id)
        self._staging.refuse_run(error.run_id, error)
        return True

    def _keep(self, batch: EventBatch) -> None:
        self._pending.keep(batch)
        if self._pending.has_durable or self._staging:
            self.store_soon()
        elif self._pending.traces:
            self.store_soon(is_trace=True)

    def clear(self) -> None:
        """Drop all that is pending and staged after the session was deleted."""
        self._cancel_timer()
        self._pending.clear()
        self._staging.clear(NotFound("session", self._session_id))
        self.fences.clear()

    def _require_transaction(self) -> None:
        self._timer = None
        self.is_due = True
        if self._due_task is None:
            self._due_task = asyncio.create_task(self._store_while_due())

    async def _store_staged(self) -> None:
        with suppress(Exception):  # who waits for a part gets the error; events stay pending
            await self._store_due()

    async def _store_while_due(self) -> None:
        backoff_seconds = INITIAL_BACKOFF_SECONDS
        while self.is_due:
            try:
                await self._store_due()
                backoff_seconds = INITIAL_BACKOFF_SECONDS
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                message = "storing the events of session %s failed; retrying in %s s"
                log_failure(log, error, message, self._session_id, backoff_seconds)
                self._is_retrying = True
                await self._clock.sleep(backoff_seconds)
                self._is_retrying, self.is_due = False, True
                backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)
        self._due_task = None

    async def aclose(self) -> None:
        """Try no longer what the store refuses."""
        if self._due_task is not None:
            self._due_task.cancel()
            with suppress(asyncio.CancelledError):
                await self._due_task

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
