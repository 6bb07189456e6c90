"""Parts of the store as a turn on a host sees it: writes that share the transactions of the turn's session."""

from collections.abc import Awaitable, Callable
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
from sophon.stores.audit.sql import AuditStore
from sophon.stores.health import StoreHealth
from sophon.stores.run_fence import RunFence
from sophon.stores.sql.database import Database
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.store_part import StorePart
from sophon.stores.tool_call_journal.contract import JournalEntry
from sophon.stores.tool_call_journal.sql import SqlJournal, put_entry
from sophon.stores.unit_of_work import Write, WriteKind
from sophon.stores.usage.contract import Reservation, Spending, UsageRow, UsageStore
from sophon_hosting.background_tasks import complete
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.staged_writes import StagedWrite
from sophon_hosting.runs.active_runs import ActiveRun
from sophon_hosting.store.approval_writes import insert_request
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.approvals.sql import ApprovalStore
from sophon_hosting.store.contract import HostStore

P = TypeVar("P", bound=StorePart)

INITIAL_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 8.0
"""Back-off before an operation is repeated; as for providers (Sophon's guide)."""

CHECK_INTERVAL_SECONDS = 1.0
"""Interval at which a waiting operation asks whether it may still wait, besides being cancelled."""

T = TypeVar("T")


class TurnStore:
    """The store of one turn: its repositories wait while it is unavailable, and share transactions of the session.

    A turn has paid for the replies and executed the calls that it is about to store. An error would lose them, and the
    turn would ask the model again. So each operation is repeated as long as the turn may wait, which is safe: a refused
    write has changed nothing (`Database.write`). Otherwise it raises StoreUnavailable, as the store itself does.
    Somebody else must probe the store meanwhile (`StoreMonitor` in a host).

    What repositories collect of its writes is stored with its next transaction. Once the store has refused one of them
    for good, no further call may run.
    """

    def __init__(
        self, active_run: ActiveRun, session_id: str, event_bus: EventBus, store: HostStore, clock: Clock
    ) -> None:
        self.active_run, self.session_id, self.event_bus, self.clock = active_run, session_id, event_bus, clock
        self._store, self._staged = store, list[StagedWrite]()

    # Each is made when it is first used: a turn uses few of them.
    def __getattr__(self, name: str) -> Any:
        part = getattr(self._store, name)
        if isinstance(part, Repository):
            part = self.__dict__[name] = part.over(partial(TurnDatabase, self))
        return part

    @cached_property
    def audit(self) -> AuditStore:
        """The audit log; the chat of the turn's entries is that of its run."""
        audit, run = self._store.audit.over(partial(TurnDatabase, self)), self.active_run.run
        audit.chat = str(run.origin.get("chat") or "") if run is not None else ""
        return audit

    @cached_property
    def usage(self) -> "TurnUsage":
        """The usage and its reservations."""
        return TurnUsage(self, self._store.usage)

    @cached_property
    def journal(self) -> "TurnJournal":
        """The journal of the calls."""
        return TurnJournal(self, cast(SqlJournal, self._store.journal).over(partial(TurnDatabase, self)))

    @cached_property
    def approvals(self) -> "TurnApprovals":
        """The approval requests."""
        return TurnApprovals(self, self._store.approvals.over(partial(TurnDatabase, self)))

    def part(self, kind: type[P]) -> P:
        """Return the repository of a part of the store; see `SqlStore.part`."""
        return self._store.part(kind).over(partial(TurnDatabase, self))

    def stage(self, kind: WriteKind, work: Callable[[Connection], object]) -> None:
        """Stage a write. Raises the error for which the store has refused an earlier one."""
        self.check_staged()
        own = Write(kind, work, self.active_run.task_id)
        self._staged.append(self.event_bus.session(self.session_id).stage(own))

    def check_staged(self) -> None:
        """Raise the error for which the store has refused a write for good."""
        for part in self._staged:
            raise_refusal(part)
        self._staged = [part for part in self._staged if part.write is not None]

    async def repeat(self, operation: Callable[[], Awaitable[T]], health: StoreHealth | None = None) -> T:
        """Return the result of an operation, repeated while the store, or the one with this `health`, is unavailable
        and the turn may wait.
        """
        backoff_seconds = INITIAL_BACKOFF_SECONDS
        while True:
            try:
                return await operation()
            except StoreUnavailable:
                if not self.active_run.may_wait_for_store():
                    raise
                await self._wait_until_writable(health or self._store.health)
                await self.clock.sleep(backoff_seconds)
            backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)

    async def _wait_until_writable(self, health: StoreHealth) -> None:
        """Wait at most until nobody may wait any more: within a shielded scope, a cancellation does not arrive."""
        while not health.is_writable and self.active_run.may_wait_for_store():
            try:
                async with self.clock.timeout(CHECK_INTERVAL_SECONDS):
                    await health.wait_until_writable()
            except TimeoutError:
                continue


class TurnDatabase:
    """The database of a repository of a `TurnStore`; what is no operation on the turn's data is that of `database`."""

    def __init__(self, turn: TurnStore, database: Database) -> None:
        self._turn, self._database = turn, database

    @property
    def fence(self) -> RunFence | None:
        """See `Database.fence`."""
        return self._turn.active_run.fence

    async def read(self, work: Callable[[Connection], T]) -> T:
        """See `Database.read`."""
        return await self._turn.repeat(partial(self._database.read, work), self._database.health)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """See `Database.write`."""
        return await self._turn.repeat(partial(self._database.write, work), self._database.health)

    async def add(self, kind: WriteKind, work: Callable[[Connection], object]) -> None:
        """See `Database.add`. It is stored with the journal entry of the call that it is about."""
        self._turn.stage(kind, work)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


class TurnJournal:
    """Journal whose writes take with them what is staged: the checkpoint before the call, and the events about it.

    So a call starts only when the checkpoint that contains it and what the guards store about it are stored. `journal`
    reads. Raises StoreUnavailable, and then nothing of the call is stored.
    """

    def __init__(self, turn: TurnStore, journal: SqlJournal) -> None:
        self._turn, self._journal = turn, journal

    async def start(self, run_id: str, call_id: str, tool: str) -> None:
        """See `Journal.start`.

        A process may stand still behind this write, and come back when others have continued the run. So a start that
        took longer than the interval at which leases are renewed is written again: the store refuses it if they have.
        """
        clock, renewal_seconds = self._turn.clock, self._turn.active_run.renewal_seconds
        while True:
            began = clock.monotonic()
            await self._turn.repeat(partial(self._store, run_id, JournalEntry(call_id, tool)))
            raise_refusal(self._turn.active_run.checkpoint)
            self._turn.check_staged()
            if renewal_seconds is None or clock.monotonic() - began <= renewal_seconds:
                return

    async def finish(self, run_id: str, result: ToolResult) -> None:
        """See `Journal.finish`."""
        await self._turn.repeat(partial(self._store, run_id, JournalEntry(result.call_id, result.tool, result)))

    async def load_entries(self, run_id: str) -> dict[str, JournalEntry]:
        """See `Journal.load_entries`."""
        return await self._journal.load_entries(run_id)

    async def delete(self, run_id: str, *, fence: RunFence | None = None) -> None:
        """See `Journal.delete`. That of the turn itself is deleted with its outcome, which may wait for the store:
        if its process died before, the next start must find what has run.
        """
        if run_id != self._turn.active_run.task_id:
            await self._journal.delete(run_id, fence=fence)

    async def _store(self, run_id: str, entry: JournalEntry) -> None:
        if entry.result is None:
            raise_refusal(self._turn.active_run.checkpoint)
        write = Write(WriteKind.CALL, partial(put_entry, run_id=run_id, entry=entry), self._turn.active_run.task_id)
        await self._turn.event_bus.session(self._turn.session_id).store(write)


class TurnUsage:
    """Usage of a turn, whose reservations end even if the turn may no longer wait for the store: the process ends them
    later (`RunTerminator.settle_usage`). What is left reserved would count as spent for an hour.
    """

    def __init__(self, turn: TurnStore, usage: UsageStore) -> None:
        self._turn, self._of_process = turn, usage
        self._usage = usage.over(partial(TurnDatabase, turn)) if isinstance(usage, Repository) else usage

    async def settle(self, reservation: Reservation | None, row: UsageRow) -> Spending:
        """See `UsageStore.settle`."""
        spent: Spending = await self._end("settle", reservation, row)
        return spent

    async def release(self, reservation: Reservation) -> None:
        """See `UsageStore.release`."""
        await self._end("release", reservation)

    async def _end(self, name: str, *arguments: object) -> Any:
        async def end() -> Any:
            try:
                return await getattr(self._usage, name)(*arguments)
            except StoreUnavailable:
                self._turn.active_run.unsettled.append(partial(getattr(self._of_process, name), *arguments))
                raise

        return await complete(end())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usage, name)


class TurnApprovals:
    """Approval store that stores a request with the checkpoint and the event that announces it.

    After a kill, the same call must be asked about; and whoever answers the event at once must find the request.
    """

    def __init__(self, turn: TurnStore, approvals: ApprovalStore) -> None:
        self._turn, self._approvals = turn, approvals

    async def get_or_create(self, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
        """See `ApprovalStore.get_or_create`."""
        return await self._turn.repeat(partial(self._get_or_create, request, at))

    async def _get_or_create(self, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
        active_run, event_bus, session_id = self._turn.active_run, self._turn.event_bus, self._turn.session_id
        raise_refusal(active_run.checkpoint)
        # Before anything is awaited, and without a waiter, so that the request stays staged as long as its event is
        # pending: whichever transaction stores the event stores the request too. A known request is not changed.
        insert = partial(_insert_when_stored, request=request, at=at, clock=self._turn.clock)
        part = event_bus.session(session_id).stage(Write(WriteKind.APPROVAL, insert, active_run.task_id))
        await event_bus.flush(session_id)
        raise_refusal(part)
        raise_refusal(active_run.checkpoint)
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


def services_for_turn(
    services: Services, store: HostStore, active_run: ActiveRun, session_id: str, event_bus: EventBus
) -> Services:
    """Return the services for the turn of a run, whose store is made of `store`, that of the services.

    What the turn stores shares the transactions of its session. Its operations on the store wait while that is
    unavailable, as long as the run may wait.
    """
    active_run.store = cast(HostStore, TurnStore(active_run, session_id, event_bus, store, services.clock))
    return services.with_parts(store=active_run.store)
