"""Parts of the store as a turn on a host sees it: writes that share the transactions of the turn's session."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any, TypeVar, cast

from sqlalchemy import Connection

from sophon.approvals import ApprovalRequest
from sophon.clock import Clock
from sophon.errors import StoreUnavailable
from sophon.messages import ToolResult
from sophon.services import Services
from sophon.stores.audit.audit_event import AuditEvent
from sophon.stores.audit.sql import AuditStore
from sophon.stores.contract import Store
from sophon.stores.run_fence import RunFence
from sophon.stores.sessions.contract import SessionRecord, SessionStore
from sophon.stores.sql.repository import TurnRepository
from sophon.stores.sql.store_part import StorePart
from sophon.stores.tool_call_journal.contract import Journal, JournalEntry
from sophon.stores.tool_call_journal.sql import put_entry
from sophon.stores.unit_of_work import Write, WriteKind
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.staged_writes import StagedWrite
from sophon_hosting.runs.active_runs import ActiveRun
from sophon_hosting.store.approval_writes import insert_request
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.approvals.sql import ApprovalStore
from sophon_hosting.store.contract import HostStore, host_store

P = TypeVar("P", bound=StorePart)

INITIAL_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 8.0
"""Back-off before an operation is repeated; as for providers (Sophon's guide)."""

CHECK_INTERVAL_SECONDS = 1.0
"""Interval at which a waiting operation asks whether it may still wait, besides being cancelled."""

OTHER_ATTRIBUTES = {"health", "maintenance", "in_memory", "file", "open", "close"}
"""Public names of a store that are no repositories."""


class WaitingStore:
    """Store whose operations wait while `store` is unavailable, as long as `may_wait` returns True.

    A turn has paid for the replies and executed the calls that it is about to store. An error would lose them, and the
    turn would ask the model again. Repeating is safe: a refused write has changed nothing (`Database.write`).

    Otherwise they raise StoreUnavailable, as the store itself does. Somebody else must probe the store meanwhile
    (`StoreMonitor` in a host). What is no repository is that of the store.
    """

    def __init__(self, store: Store, clock: Clock, may_wait: Callable[[], bool]) -> None:
        self._store, self._clock, self._may_wait = store, clock, may_wait

    def __getattr__(self, name: str) -> Any:
        """Make the repository `name` when it is first used: a turn uses few of them."""
        part = getattr(self._store, name)
        if name in OTHER_ATTRIBUTES or name.startswith("_"):
            return part
        repository = self.__dict__[name] = _WaitingRepository(part, self._repeat)
        return repository

    def part(self, kind: type[Any]) -> Any:
        """Return the repository of a part of the store; see `SqlStore.part`."""
        return _WaitingRepository(cast(Any, self._store).part(kind), self._repeat)

    async def _repeat(self, operation: Callable[[], Awaitable[Any]]) -> Any:
        backoff_seconds = INITIAL_BACKOFF_SECONDS
        while True:
            try:
                return await operation()
            except StoreUnavailable:
                if not self._may_wait():
                    raise
                await self._wait_until_writable()
                await self._clock.sleep(backoff_seconds)
            backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)

    async def _wait_until_writable(self) -> None:
        """Wait at most until nobody may wait any more: within a shielded scope, a cancellation does not arrive."""
        while not self._store.health.is_writable and self._may_wait():
            try:
                async with self._clock.timeout(CHECK_INTERVAL_SECONDS):
                    await self._store.health.wait_until_writable()
            except TimeoutError:
                continue


class _WaitingRepository:
    """A repository each of whose coroutine methods is repeated by `repeat`."""

    def __init__(self, repository: object, repeat: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]) -> None:
        self._repository, self._repeat = repository, repeat

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._repository, name)
        if not inspect.iscoroutinefunction(operation):
            return operation

        async def repeated(*arguments: Any, **named: Any) -> Any:
            return await self._repeat(lambda: operation(*arguments, **named))

        self.__dict__[name] = repeated
        return repeated


class TurnStore:
    """The store of one turn: what repositories collect of its writes is stored with its next transaction."""

    def __init__(
        self, active_run: ActiveRun, session_id: str, event_bus: EventBus, store: HostStore, clock: Clock
    ) -> None:
        self._active_run, self._session_id, self._event_bus, self._store = active_run, session_id, event_bus, store
        self._clock = clock

    # Made when first used: a turn without tools needs none of them.
    @cached_property
    def _writes(self) -> "StagedCallWrites":
        return StagedCallWrites(self._active_run, self._session_id, self._event_bus)

    @cached_property
    def audit(self) -> "TurnAudit":
        """The audit log."""
        return TurnAudit(self._active_run, self._collecting(self._store.audit))

    @cached_property
    def journal(self) -> "TurnJournal":
        """The journal of the calls."""
        return TurnJournal(self._active_run, self._session_id, self._event_bus, self._store.journal, self._writes)

    @cached_property
    def sessions(self) -> "TurnSessions":
        """The sessions."""
        return TurnSessions(self._active_run, self._store.sessions)

    @cached_property
    def approvals(self) -> "TurnApprovals":
        """The approval requests."""
        return TurnApprovals(self._active_run, self._session_id, self._event_bus, self._store.approvals, self._clock)

    def __getattr__(self, name: str) -> Any:
        part = self.__dict__[name] = self._collecting(getattr(self._store, name))
        return part

    def part(self, kind: type[P]) -> P:
        """Return the repository of a part of the store; see `SqlStore.part`."""
        return cast(P, self._collecting(self._store.part(kind)))

    def _collecting(self, part: Any) -> Any:
        return part.collecting(self._writes.stage) if isinstance(part, TurnRepository) else part


class StagedCallWrites:
    """What guards store about calls: staged, and stored with the journal entry of the call that they are about.

    Once the store has refused one of them for good, no further call may run.
    """

    def __init__(self, active_run: ActiveRun, session_id: str, event_bus: EventBus) -> None:
        self._run_id, self._session_id, self._event_bus = active_run.task_id, session_id, event_bus
        self._parts: list[StagedWrite] = []

    def stage(self, write: Write) -> None:
        """Stage a write. Raises the error for which the store has refused an earlier one."""
        self.check()
        self._parts.append(self._event_bus.stage(self._session_id, replace(write, run_id=self._run_id)))

    def check(self) -> None:
        """Raise the error for which the store has refused a write for good."""
        for part in self._parts:
            raise_refusal(part)
        self._parts = [part for part in self._parts if part.write is not None]


class TurnJournal:
    """Journal whose writes take with them what is staged: the checkpoint before the call, and the events about it.

    So a call starts only when the checkpoint that contains it and what the guards store about it are stored. `journal`
    reads. Raises StoreUnavailable, and then nothing of the call is stored.
    """

    def __init__(
        self, active_run: ActiveRun, session_id: str, event_bus: EventBus, journal: Journal, writes: StagedCallWrites
    ) -> None:
        self._active_run, self._session_id, self._event_bus, self._journal = active_run, session_id, event_bus, journal
        self._writes = writes

    async def start(self, run_id: str, call_id: str, tool: str) -> None:
        """See `Journal.start`."""
        raise_refusal(self._active_run.checkpoint)
        await self._store(run_id, JournalEntry(call_id, tool))
        raise_refusal(self._active_run.checkpoint)
        self._writes.check()

    async def finish(self, run_id: str, result: ToolResult) -> None:
        """See `Journal.finish`."""
        await self._store(run_id, JournalEntry(result.call_id, result.tool, result))

    async def load_entries(self, run_id: str) -> dict[str, JournalEntry]:
        """See `Journal.load_entries`."""
        return await self._journal.load_entries(run_id)

    async def delete(self, run_id: str, *, fence: RunFence | None = None) -> None:
        """See `Journal.delete`. The journal of a turn that has its outcome was deleted with it, and one that has its
        outcome from a later start leaves it to that.
        """
        if not (self._active_run.has_outcome or self._active_run.is_elsewhere):
            await self._journal.delete(run_id, fence=fence or self._active_run.fence)

    async def _store(self, run_id: str, entry: JournalEntry) -> None:
        write = Write(WriteKind.CALL, partial(put_entry, run_id=run_id, entry=entry), self._active_run.task_id)
        await self._event_bus.store(self._session_id, write)


class TurnSessions:
    """Sessions as a turn sees them: what it appends carries its fence."""

    def __init__(self, active_run: ActiveRun, sessions: SessionStore) -> None:
        self._active_run, self._sessions = active_run, sessions

    async def append(
        self, session_id: str, records: Sequence[SessionRecord], *, owner: str = "", fence: RunFence | None = None
    ) -> int:
        """See `SessionStore.append`."""
        return await self._sessions.append(session_id, records, owner=owner, fence=fence or self._active_run.fence)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sessions, name)


class TurnAudit:
    """Audit log of a turn: the chat of its entries is that of the run."""

    def __init__(self, active_run: ActiveRun, audit: AuditStore) -> None:
        self._active_run, self._audit = active_run, audit

    async def append(self, events: Sequence[AuditEvent]) -> None:
        """See `AuditStore.append`. Raises the error for which the store has refused an earlier entry."""
        run = self._active_run.run
        chat = str(run.origin.get("chat") or "") if run is not None else ""
        await self._audit.append([replace(event, chat=chat) for event in events])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._audit, name)


class TurnApprovals:
    """Approval store that stores a request with the checkpoint and the event that announces it.

    After a kill, the same call must be asked about; and whoever answers the event at once must find the request.
    """

    def __init__(
        self, active_run: ActiveRun, session_id: str, event_bus: EventBus, approvals: ApprovalStore, clock: Clock
    ) -> None:
        self._active_run, self._session_id = active_run, session_id
        self._event_bus, self._approvals, self._clock = event_bus, approvals, clock

    async def get_or_create(self, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
        """See `ApprovalStore.get_or_create`."""
        raise_refusal(self._active_run.checkpoint)
        # Before anything is awaited, and without a waiter, so that the request stays staged as long as its event is
        # pending: whichever transaction stores the event stores the request too. A known request is not changed.
        insert = partial(_insert_when_stored, request=request, at=at, clock=self._clock)
        part = self._event_bus.stage(self._session_id, Write(WriteKind.APPROVAL, insert, self._active_run.task_id))
        await self._event_bus.flush(self._session_id)
        raise_refusal(part)
        raise_refusal(self._active_run.checkpoint)
        return await self._approvals.get(request.id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._approvals, name)


def raise_refusal(part: StagedWrite | None) -> None:
    """Raise the error for which the store has refused a part: nothing may follow that needs it."""
    if part is not None and part.error is not None:
        raise part.error


def _insert_when_stored(connection: Connection, request: ApprovalRequest, at: datetime, clock: Clock) -> None:
    """Insert a request that was made `at`. The time to decide begins now: before, nobody could be asked."""
    waited = clock.now() - at
    expires_at = request.expires_at + waited if request.expires_at else None
    insert_request(connection, replace(request, expires_at=expires_at), at + waited)


def services_for_turn(services: Services, active_run: ActiveRun, session_id: str, event_bus: EventBus) -> Services:
    """Return the services for the turn of a run.

    What the turn stores shares the transactions of its session. Its operations on the store wait while that is
    unavailable, as long as the run may wait.
    """
    store = cast(HostStore, TurnStore(active_run, session_id, event_bus, host_store(services), services.clock))
    active_run.store = cast(HostStore, WaitingStore(store, services.clock, active_run.may_wait_for_store))
    return services.with_parts(store=active_run.store)
