"""SQL run store: a row per run, and a row per inbound message that was accepted with a key."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, Connection, FromClause, Select, and_, bindparam, delete, exists, func, select

from sophon.clock import Clock
from sophon.stores.run_fence import RunFence
from sophon.stores.sessions.contract import SessionBranch, SessionRecord
from sophon.stores.sessions.record_rules import assign_seqs
from sophon.stores.sql.batched_deletion import delete_in_batches
from sophon.stores.sql.database import Database
from sophon.stores.sql.schema import journal
from sophon.stores.sql.store_part import StorePart
from sophon.stores.unit_of_work import NO_WRITES, UnitOfWork
from sophon.stores.usage.contract import UsageRow, UsageStore
from sophon_channels.outbound_entry import OutboundEntry, prepare_entries
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.outbox.transitions import assign_run
from sophon_hosting.store.runs import sql_statements as statements
from sophon_hosting.store.runs import sql_transactions as transactions
from sophon_hosting.store.runs.contract import (
    UNFINISHED_STATUSES,
    AcceptResult,
    BeginResult,
    EventFactory,
    FinishResult,
    InboundKey,
    LogWrite,
    PendingRun,
    Precondition,
    Run,
    RunOutcome,
    RunStatus,
    Withdrawal,
    no_events,
)
from sophon_hosting.store.runs.sql_transactions import check_fences
from sophon_hosting.store.runs.transitions import check_start
from sophon_hosting.store.tables import HOST_TABLES, IS_UNFINISHED, inbound, outbound, runs

_SELECT_UNFINISHED = (
    select(runs.c.id).where(runs.c.session_id == bindparam("which"), IS_UNFINISHED).order_by(runs.c.number).limit(1)
)


class SqlRunStore(StorePart):
    """The runs of an `SqlStore`; see `RunStore`. `usage` is stored in another store if there is one for it.

    `parts` are asked for the versions of what a run is accepted for.
    """

    tables = HOST_TABLES
    versions: ClassVar = {"run": select(runs.c.starts).where(runs.c.id == bindparam("which"))}

    def __init__(
        self,
        database: Database,
        clock: Clock,
        other_usage: UsageStore | None = None,
        parts: Sequence[type[StorePart]] = (),
    ) -> None:
        super().__init__(database, clock)
        self._other_usage = other_usage
        asked: tuple[type[StorePart], ...] = (SqlRunStore, *parts)
        self._versions = {kind: query for part in asked for kind, query in part.versions.items()}

    @classmethod
    def check_fences(cls, connection: Connection, fences: Iterable[RunFence]) -> None:
        """See `StorePart.check_fences`."""
        check_fences(connection, fences)

    @classmethod
    def has_unfinished_work(cls, connection: Connection, session_id: str) -> bool:
        """See `StorePart.has_unfinished_work`."""
        return connection.execute(_SELECT_UNFINISHED, {"which": session_id}).first() is not None

    @classmethod
    def delete_session(cls, connection: Connection, session_id: str) -> None:
        """See `StorePart.delete_session`. The runs themselves are deleted by a foreign key."""
        own_runs = select(runs.c.id).where(runs.c.session_id == session_id)
        connection.execute(delete(journal).where(journal.c.turn.in_(own_runs)))

    @classmethod
    def find_uses(cls, rows: FromClause) -> Sequence[ColumnElement[bool]]:
        """See `StorePart.find_uses`."""
        return (exists().where(runs.c.session_id == rows.c.id, runs.c.finished_at.is_(None)),)

    async def accept(
        self,
        run: Run,
        key: InboundKey | None = None,
        *,
        session_owner: str | None = None,
        events: EventFactory = no_events,
        unit: UnitOfWork = NO_WRITES,
        branch: SessionBranch | None = None,
        precondition: Precondition | None = None,
    ) -> AcceptResult:
        """See `RunStore.accept`."""
        more = transactions.Additions(self._clock.now(), events=events, unit=unit)
        work = partial(transactions.accept, run=run, key=key, session_owner=session_owner, branch=branch, more=more)
        return await self._database.write(partial(work, precondition=precondition, versions=self._versions))

    async def begin(
        self,
        run_id: str,
        at: datetime,
        *,
        records: Sequence[SessionRecord] = (),
        events: EventFactory = no_events,
        unit: UnitOfWork = NO_WRITES,
        seen_starts: int | None = None,
        seen_text: str | None = None,
    ) -> BeginResult:
        """See `RunStore.begin`."""
        now = self._clock.now()
        more = transactions.Additions(now, assign_seqs(records, 0, now), events=events, unit=unit)
        return await self._database.write(
            partial(transactions.begin, run_id=run_id, at=at, seen_starts=seen_starts, seen_text=seen_text, more=more)
        )

    async def replace_text(self, run_id: str, text: str, origin: Mapping[str, Any]) -> bool:
        """See `RunStore.replace_text`."""
        return await self._database.write(
            partial(transactions.replace_text, run_id=run_id, text=text, origin=dict(origin))
        )

    async def record(self, session_id: str, unit: UnitOfWork, events: Sequence[LoggedEvent]) -> int:
        """See `RunStore.record`."""
        return await self._database.write(
            partial(transactions.record, session_id=session_id, unit=unit, events=tuple(events), at=self._clock.now())
        )

    async def suspend(
        self,
        run_id: str,
        state: Mapping[str, Any],
        waiting_for: Sequence[str],
        logs: Sequence[LogWrite] = (),
        *,
        unit: UnitOfWork = NO_WRITES,
        start: int | None = None,
    ) -> Run:
        """See `RunStore.suspend`."""
        if start is not None:
            unit = replace(unit, fences=(*unit.fences, RunFence(run_id, start)))
        return await self._database.write(
            partial(
                transactions.suspend, run_id=run_id, state=state, waiting_for=tuple(waiting_for), logs=logs, unit=unit
            )
        )

    async def load_logs(self, run_id: str) -> Mapping[int, Sequence[Any]]:
        """See `RunStore.load_logs`."""
        return await self._database.read(partial(transactions.load_logs, run_id=run_id))

    async def finish(
        self,
        run_id: str,
        outcome: RunOutcome,
        *,
        records: Sequence[SessionRecord] = (),
        outbound: Sequence[OutboundEntry] = (),
        usage: Sequence[UsageRow] = (),
        events: EventFactory = no_events,
        unit: UnitOfWork = NO_WRITES,
        start: int | None = None,
        seen_starts: int | None = None,
        unless_running: bool = False,
        withdrawal: Withdrawal | None = None,
    ) -> FinishResult:
        """See `RunStore.finish`."""
        now = self._clock.now()
        entries = prepare_entries(assign_run(run_id, outbound), now) if outbound else ()
        if self._other_usage is not None:
            await self._record_elsewhere(self._other_usage, run_id, usage, start, unless_running=unless_running)
        own_usage = usage if self._other_usage is None else ()
        more = transactions.Additions(now, assign_seqs(records, 0, now), entries, own_usage, events, unit)
        return await self._database.write(
            partial(
                transactions.finish,
                run_id=run_id,
                outcome=outcome,
                start=start,
                seen_starts=seen_starts,
                unless_running=unless_running,
                withdrawal=withdrawal,
                more=more,
            )
        )

    async def _record_elsewhere(
        self, other: UsageStore, run_id: str, usage: Sequence[UsageRow], start: int | None, *, unless_running: bool
    ) -> None:
        """Store usage where it belongs before the outcome: who sees that finds the usage, too."""
        run = await self.get(run_id)
        if start is not None:
            check_start(run_id, start, run.starts)
        if not (unless_running and run.status == "running"):
            await other.record(usage)

    async def request_cancel(self, run_id: str) -> Run:
        """See `RunStore.request_cancel`."""
        return await self._database.write(partial(transactions.request_cancel, run_id=run_id))

    async def get(self, run_id: str) -> Run:
        """See `RunStore.get`."""
        return await self._database.read(partial(transactions.get, run_id=run_id))

    async def find(self, run_id: str) -> Run | None:
        """See `RunStore.find`."""
        return await self._database.read(partial(transactions.find, run_id=run_id))

    async def find_by_key(self, key: InboundKey) -> Run | None:
        """See `RunStore.find_by_key`."""
        return await self._database.read(partial(transactions.find_by_key, key=key))

    async def list_by_account(self, channel: str, account: str, limit: int) -> list[tuple[InboundKey, Run]]:
        """See `RunStore.list_by_account`."""
        query = (
            select(inbound.c.external_id, *statements.HEAD_COLUMNS)
            .join(runs, runs.c.number == inbound.c.run)
            .where(inbound.c.channel == channel, inbound.c.account == account)
            .order_by(inbound.c.external_id.desc())
            .limit(max(limit, 0))
        )
        return await self._database.read(
            lambda connection: [
                (InboundKey(channel, account, external_id), statements.run_from_row(connection, row, whole=False))
                for external_id, *row in connection.execute(query)
            ]
        )

    async def expire(self, before: datetime) -> int:
        """See `RunStore.expire`. Uses a transaction per batch."""
        is_sending = exists().where(outbound.c.run_id == runs.c.id, outbound.c.open)
        last = await self._database.read(partial(_find_last_before, before=before))
        is_old = (runs.c.number <= last) & (runs.c.finished_at < before)
        ended = select(runs.c.number).where(is_old, ~is_sending).order_by(runs.c.number)
        return await delete_in_batches(self._database, runs.c.number, ended)

    async def expire_keys(self, before: datetime) -> int:
        """See `RunStore.expire_keys`. Uses a transaction per batch."""
        ended = (
            select(inbound.c.run)
            .join(runs, runs.c.number == inbound.c.run)
            .where(runs.c.finished_at < before)
            .order_by(inbound.c.run)
        )
        return await delete_in_batches(self._database, inbound.c.run, ended)

    async def expire_journal(self, before: datetime) -> int:
        """See `RunStore.expire_journal`. Uses a transaction per batch."""
        ended = (
            select(journal.c.turn)
            .join(runs, runs.c.id == journal.c.turn)
            .where(runs.c.finished_at < before)
            .order_by(journal.c.turn)
        )
        return await delete_in_batches(self._database, journal.c.turn, ended)

    async def list_unfinished(self, session_id: str | None = None) -> list[Run]:
        """See `RunStore.list_unfinished`."""
        is_unfinished = and_(IS_UNFINISHED, runs.c.status.in_(UNFINISHED_STATUSES))  # in the words of the index
        query = select(*statements.COLUMNS).where(is_unfinished).order_by(runs.c.number)
        if session_id is not None:
            query = query.where(runs.c.session_id == session_id)
        return await self._database.read(
            lambda connection: [statements.run_from_row(connection, row) for row in connection.execute(query)]
        )

    async def list_pending(self) -> list[PendingRun]:
        """See `RunStore.list_pending`."""
        rows = await self._database.read(lambda connection: connection.execute(statements.SELECT_PENDING).all())
        signalled = {row.number for row in rows if row.is_signalled}
        by_number = {row.number: row for row in rows}
        pending = [by_number[number] for number in sorted(by_number)]
        return [PendingRun(row.id, row.number in signalled, row.session_id, row.owner) for row in pending]

    async def list_running(self) -> list[PendingRun]:
        """See `RunStore.list_running`."""
        rows = await self._database.read(lambda connection: connection.execute(statements.SELECT_RUNNING).all())
        return [PendingRun(row.id, bool(row.signalled), row.session_id, row.owner) for row in rows]

    async def list(
        self,
        *,
        session_id: str | None = None,
        owner: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
        whole: bool = True,
        before: str | None = None,
    ) -> list[Run]:
        """See `RunStore.list`."""
        columns = statements.COLUMNS if whole else statements.HEAD_COLUMNS
        query = select(*columns).order_by(runs.c.number.desc()).limit(max(limit, 0))
        for column, value in ((runs.c.session_id, session_id), (runs.c.owner, owner)):
            if value is not None:
                query = query.where(column == value)
        if status is not None:
            query = query.where(statements.has_status(status))
        return await self._database.read(partial(_list, query=query, before=before, whole=whole))


def _list(connection: Connection, query: Select[*tuple[Any, ...]], before: str | None, *, whole: bool) -> list[Run]:
    if before is not None:
        first = statements.SELECT_NUMBER.fetch_row(connection, {"which": before})
        if first is None:
            raise transactions.not_found(connection, before)
        query = query.where(runs.c.number < first[0])
    return [statements.run_from_row(connection, row, whole=whole) for row in connection.execute(query)]


def _find_last_before(connection: Connection, before: datetime) -> int:
    """Return the number of the last run that was accepted before a time, by a binary search instead of an index.

    Numbers grow with time, unless the clock was set back: then it may be an earlier run.
    """
    last, end = 0, connection.execute(select(func.coalesce(func.max(runs.c.number), 0))).scalar_one() + 1
    query = select(runs.c.number, runs.c.created_at).order_by(runs.c.number).limit(1)
    while last + 1 < end:
        middle = (last + end) // 2
        found = connection.execute(query.where(runs.c.number >= middle, runs.c.number < end)).first()
        if found is not None and found.created_at < before:
            last = found.number
        else:
            end = middle
    return last
