"""SQL run store: a row per run, and a row per inbound message that was accepted with a key."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, exists, func, select, update

from sophon.clock import Clock
from sophon.errors import StaleRun
from sophon.lazy_dataclass import dataclass
from sophon.stores.attachments.contract import ids_in_options
from sophon.stores.attachments.sql import use_attachments
from sophon.stores.audit.sql import append_audit_events
from sophon.stores.data_labels.sql import write_labels
from sophon.stores.events.contract import LoggedEvent
from sophon.stores.events.sql import add_events, select_last_seq
from sophon.stores.outbound_entry import OutboundEntry, prepare_entries
from sophon.stores.outbox.transitions import assign_run
from sophon.stores.rate_windows.sql import add_rate_events
from sophon.stores.route_averages.sql import write_observations
from sophon.stores.run_fence import RunFence, check_start
from sophon.stores.runs import sql_statements as statements
from sophon.stores.runs.contract import (
    UNFINISHED_STATUSES,
    AcceptResult,
    BeginResult,
    EventFactory,
    FinishResult,
    InboundKey,
    PendingRun,
    Precondition,
    Run,
    RunOutcome,
    RunStatus,
    Withdrawal,
    no_events,
)
from sophon.stores.runs.sql_checkpoint_logs import delete_logs, load_entries, write_logs
from sophon.stores.runs.staged_writes import NOTHING_STAGED, LogWrite, StagedWrites
from sophon.stores.runs.transitions import (
    SUGGESTION_POOL_SIZE,
    accept_run,
    begin_run,
    check_precondition,
    check_session_owner,
    count_starts_after_outcome,
    give_to,
    run_id_taken,
    run_not_found,
    suspend_run,
)
from sophon.stores.sessions.contract import SessionBranch, SessionRecord
from sophon.stores.sessions.records import assign_seqs
from sophon.stores.sessions.sql_branches import copy_session
from sophon.stores.sessions.sql_records import add_records
from sophon.stores.sessions.sql_rows import create_session, find_session
from sophon.stores.snapshots.sql import add_snapshots
from sophon.stores.sql.approval_requests import decide_open_requests, insert_request
from sophon.stores.sql.database import Database
from sophon.stores.sql.expiry import delete_in_batches
from sophon.stores.sql.outbound_rows import add_entries
from sophon.stores.sql.run_fences import check_fences
from sophon.stores.sql.schema import IS_UNFINISHED, goals, inbound, outbound, runs, schedules
from sophon.stores.sub_agents.sql import put_sub_agents
from sophon.stores.texts.sql import TextReader, TextWriter
from sophon.stores.tool_call_journal.sql import delete_entries, put_entry
from sophon.stores.traces.sql import add_traces
from sophon.stores.trajectories.sql import add_trajectories
from sophon.stores.usage.contract import UsageRow
from sophon.stores.usage.sql import record_usage
from sophon.stores.vectors.sql import put_vectors

_SELECT_VERSION = {
    "goal": select(goals.c.version).where(goals.c.id == bindparam("which")),
    "schedule": select(schedules.c.version).where(schedules.c.id == bindparam("which")),
    "run": select(runs.c.starts).where(runs.c.id == bindparam("which")),
}
"""The version of what a run is accepted for, by `Precondition.kind`."""


@dataclass(frozen=True, slots=True)
class _Additions:
    """What is stored together with a change of a run."""

    at: datetime
    records: Sequence[SessionRecord] = ()
    outbound: Sequence[OutboundEntry] = ()
    usage: Sequence[UsageRow] = ()
    events: EventFactory = no_events
    staged: StagedWrites = NOTHING_STAGED


class SqlRunStore:
    """The runs of an `SqlStore`; see `RunStore`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def accept(
        self,
        run: Run,
        key: InboundKey | None = None,
        *,
        session_owner: str | None = None,
        events: EventFactory = no_events,
        staged: StagedWrites = NOTHING_STAGED,
        branch: SessionBranch | None = None,
        precondition: Precondition | None = None,
    ) -> AcceptResult:
        """See `RunStore.accept`."""
        more = _Additions(self._clock.now(), events=events, staged=staged)
        work = partial(_accept, run=run, key=key, session_owner=session_owner, branch=branch, more=more)
        return await self._database.write(partial(work, precondition=precondition))

    async def begin(
        self,
        run_id: str,
        at: datetime,
        *,
        records: Sequence[SessionRecord] = (),
        events: EventFactory = no_events,
        staged: StagedWrites = NOTHING_STAGED,
        seen_starts: int | None = None,
        seen_text: str | None = None,
    ) -> BeginResult:
        """See `RunStore.begin`."""
        now = self._clock.now()
        more = _Additions(now, assign_seqs(records, 0, now), events=events, staged=staged)
        return await self._database.write(
            partial(_begin, run_id=run_id, at=at, seen_starts=seen_starts, seen_text=seen_text, more=more)
        )

    async def replace_text(self, run_id: str, text: str, origin: Mapping[str, Any]) -> bool:
        """See `RunStore.replace_text`."""
        return await self._database.write(partial(_replace_text, run_id=run_id, text=text, origin=dict(origin)))

    async def record(self, session_id: str, staged: StagedWrites, events: Sequence[LoggedEvent]) -> int:
        """See `RunStore.record`."""
        return await self._database.write(
            partial(_record, session_id=session_id, staged=staged, events=tuple(events), at=self._clock.now())
        )

    async def checkpoint(
        self, run_id: str, state: Mapping[str, Any], logs: Sequence[LogWrite] = (), *, start: int | None = None
    ) -> bool:
        """See `RunStore.checkpoint`."""
        return await self._database.write(partial(_checkpoint, run_id=run_id, state=state, logs=logs, start=start))

    async def suspend(
        self,
        run_id: str,
        state: Mapping[str, Any],
        waiting_for: Sequence[str],
        logs: Sequence[LogWrite] = (),
        *,
        staged: StagedWrites = NOTHING_STAGED,
        start: int | None = None,
    ) -> Run:
        """See `RunStore.suspend`."""
        fences = (*staged.fences, *([RunFence(run_id, start)] if start is not None else ()))
        staged = replace(staged, fences=fences)
        return await self._database.write(
            partial(_suspend, run_id=run_id, state=state, waiting_for=tuple(waiting_for), logs=logs, staged=staged)
        )

    async def load_logs(self, run_id: str) -> Mapping[int, Sequence[Any]]:
        """See `RunStore.load_logs`."""
        return await self._database.read(partial(_load_logs, run_id=run_id))

    async def finish(
        self,
        run_id: str,
        outcome: RunOutcome,
        *,
        records: Sequence[SessionRecord] = (),
        outbound: Sequence[OutboundEntry] = (),
        usage: Sequence[UsageRow] = (),
        events: EventFactory = no_events,
        staged: StagedWrites = NOTHING_STAGED,
        start: int | None = None,
        unless_running: bool = False,
        withdrawal: Withdrawal | None = None,
    ) -> FinishResult:
        """See `RunStore.finish`."""
        now = self._clock.now()
        entries = prepare_entries(assign_run(run_id, outbound), now)
        more = _Additions(now, assign_seqs(records, 0, now), entries, usage, events, staged)
        return await self._database.write(
            partial(
                _finish,
                run_id=run_id,
                outcome=outcome,
                start=start,
                unless_running=unless_running,
                withdrawal=withdrawal,
                more=more,
            )
        )

    async def request_cancel(self, run_id: str) -> Run:
        """See `RunStore.request_cancel`."""
        return await self._database.write(partial(_request_cancel, run_id=run_id))

    async def change_owner(self, run_id: str, owner: str) -> Run:
        """See `RunStore.change_owner`."""
        return await self._database.write(partial(_change_owner, run_id=run_id, owner=owner))

    async def get(self, run_id: str) -> Run:
        """See `RunStore.get`."""
        return await self._database.read(partial(_get, run_id=run_id))

    async def find(self, run_id: str) -> Run | None:
        """See `RunStore.find`."""
        return await self._database.read(partial(_find, run_id=run_id))

    async def find_by_key(self, key: InboundKey) -> Run | None:
        """See `RunStore.find_by_key`."""
        return await self._database.read(partial(_find_by_key, key=key))

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

    async def count_ahead(self, run_id: str) -> int:
        """See `RunStore.count_ahead`."""
        return await self._database.read(partial(_count_ahead, run_id=run_id))

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
            raise _not_found(connection, before)
        query = query.where(runs.c.number < first[0])
    return [statements.run_from_row(connection, row, whole=whole) for row in connection.execute(query)]


def _accept(
    connection: Connection,
    run: Run,
    key: InboundKey | None,
    session_owner: str | None,
    branch: SessionBranch | None,
    more: _Additions,
    precondition: Precondition | None,
) -> AcceptResult:
    known = _find_by_key(connection, key) if key is not None else None
    if known is not None:
        return AcceptResult(known, created=False)
    if precondition is not None:
        version = connection.execute(_SELECT_VERSION[precondition.kind], {"which": precondition.id}).scalar()
        check_precondition(precondition, version)
    if statements.SELECT_NUMBER.fetch_row(connection, {"which": run.id}) is not None:
        raise run_id_taken(run.id)
    if branch is not None:
        copy_session(connection, branch.session_id, run.session_id, branch.upto, more.at, branch=True)
    if session_owner is not None:
        check_session_owner(run, find_session(connection, run.session_id), session_owner)
    create_session(connection, run.session_id, session_owner or run.owner, more.at, run.text)
    use_attachments(connection, run.session_id, ids_in_options(run.options), session_owner or run.owner)
    options = TextWriter(connection, run.session_id).encode(run.options)  # images may be among them
    statements.INSERT_RUN.execute(connection, statements.row_from_run(run, more.at) | {"options": options})
    inserted = statements.SELECT_NUMBER.fetch_row(connection, {"which": run.id})
    assert inserted is not None
    if key is not None:
        statements.INSERT_INBOUND_KEY.execute(connection, {**asdict(key), "run": inserted[0]})
    _write_staged(connection, more.staged)
    seq = _add_events(connection, run.session_id, more.events(0), more.at)
    return AcceptResult(accept_run(run, inserted[0], more.at), created=True, seq=seq)


def _begin(
    connection: Connection,
    run_id: str,
    at: datetime,
    seen_starts: int | None,
    seen_text: str | None,
    more: _Additions,
) -> BeginResult:
    _write_staged(connection, more.staged)
    found = statements.SELECT_TO_BEGIN.fetch_record(connection, {"which": run_id})
    if found is None:
        raise _not_found(connection, run_id)
    *columns, earlier = found
    run = statements.run_from_row(connection, columns)
    result = begin_run(run, at, waits_for=earlier or "", seen_starts=seen_starts, seen_text=seen_text)
    if result.verdict == "begun":
        run = result.run
        begun = statements.UPDATE_BEGIN.execute(
            connection,
            {
                "which": run_id,
                "seen_text": run.text,
                "new_status": run.status,
                "new_starts": run.starts,
                "new_started_at": run.started_at,
                "new_waiting_for": run.waiting_for,
            },
        )
        if not begun:  # PostgreSQL: the text was replaced since it was read
            raise StaleRun(run_id, run.starts)
    if result.verdict in ("over", "waits"):
        return result
    session_id, writer = result.run.session_id, None
    recorded = 0
    if more.records:
        writer = TextWriter(connection, session_id)
        recorded = add_records(connection, session_id, more.records, owner="", text_writer=writer)
    return replace(
        result,
        seq=_add_events(connection, session_id, more.events(recorded), more.at, writer),
        last_record_seq=recorded,
    )


def _record(
    connection: Connection, session_id: str, staged: StagedWrites, events: Sequence[LoggedEvent], at: datetime
) -> int:
    _write_staged(connection, staged)
    return _add_events(connection, session_id, events, at)


def _write_staged(connection: Connection, staged: StagedWrites) -> None:
    check_fences(connection, staged.fences)
    for checkpoint in staged.checkpoints:
        _checkpoint(connection, checkpoint.run_id, checkpoint.state, checkpoint.logs)
    for call in staged.calls:
        put_entry(connection, call.run_id, call.entry)
    for approval in staged.approvals:
        insert_request(connection, approval.request, approval.at)
    append_audit_events(connection, staged.audit)
    add_rate_events(connection, staged.rates)
    write_labels(connection, staged.labels)
    add_snapshots(connection, staged.snapshots)
    add_trajectories(connection, staged.trajectories)
    add_traces(connection, staged.traces)
    put_vectors(connection, staged.vectors)
    if staged.routes:
        write_observations(connection, staged.routes)
    if staged.sub_agents:
        put_sub_agents(connection, staged.sub_agents)


def _add_events(
    connection: Connection,
    session_id: str,
    events: Sequence[LoggedEvent],
    at: datetime,
    writer: TextWriter | None = None,
) -> int:
    """Append events, if there are any, and return the session's last event seq."""
    return add_events(connection, session_id, events, at, writer) if events else select_last_seq(connection, session_id)


def _checkpoint(
    connection: Connection,
    run_id: str,
    state: Mapping[str, Any],
    logs: Sequence[LogWrite],
    start: int | None = None,
) -> bool:
    found = statements.SELECT_STATE.fetch_record(connection, {"which": run_id})
    if found is None:
        raise _not_found(connection, run_id)
    session_id, _, number, _, _, starts = found
    if start is not None:
        check_start(run_id, start, starts)
    writer = TextWriter(connection, session_id)
    values = {"which": run_id, "running": "running", "state": writer.encode(state)}
    if not statements.UPDATE_CHECKPOINT.execute(connection, values):
        return False
    write_logs(connection, number, logs, writer)
    return True


def _suspend(
    connection: Connection,
    run_id: str,
    state: Mapping[str, Any],
    waiting_for: Sequence[str],
    logs: Sequence[LogWrite],
    staged: StagedWrites,
) -> Run:
    found = _get(connection, run_id)
    _write_staged(connection, staged)
    run = suspend_run(found, state, waiting_for)
    if run is not found:
        writer = TextWriter(connection, run.session_id)
        checkpoint = writer.encode(run.checkpoint)
        changes: dict[str, Any] = {"status": run.status, "checkpoint": checkpoint, "waiting_for": run.waiting_for}
        if not run.waiting_for:
            changes["signalled"] = True
        connection.execute(statements.UPDATE_SUSPEND.values(changes), {"which": run_id})
        write_logs(connection, run.order, logs, writer)
    return run


def _load_logs(connection: Connection, run_id: str) -> Mapping[int, Sequence[Any]]:
    found = statements.SELECT_STATE.fetch_record(connection, {"which": run_id})
    if found is None:
        raise _not_found(connection, run_id)
    return load_entries(connection, found[2], TextReader(connection, found[0]))


def _finish(
    connection: Connection,
    run_id: str,
    outcome: RunOutcome,
    start: int | None,
    more: _Additions,
    *,
    unless_running: bool,
    withdrawal: Withdrawal | None,
) -> FinishResult:
    found = statements.SELECT_STATE.fetch_record(connection, {"which": run_id})
    if found is None:
        raise _not_found(connection, run_id)
    session_id, finished_at, number, has_checkpoint, status, starts = found
    if start is not None:
        check_start(run_id, start, starts)
    _write_staged(connection, more.staged)
    if unless_running and status == "running":
        return FinishResult(is_first=False, seq=select_last_seq(connection, session_id), is_running=True)
    record_usage(connection, more.usage)
    if finished_at is not None:
        return FinishResult(is_first=False, seq=select_last_seq(connection, session_id))
    if withdrawal is not None:  # first, as where somebody decides: two writes that lock the same rows would block else
        withdrawal.note(decide_open_requests(connection, session_id, run_id, withdrawal.decision, more.at))
    writer = TextWriter(connection, session_id)
    # Before the outcome, whose text consists of their texts.
    recorded = add_records(connection, session_id, more.records, owner="", text_writer=writer) if more.records else 0
    statements.UPDATE_FINISH.execute(
        connection,
        {
            "which": run_id,
            "new_status": outcome.status,
            "new_finished_at": more.at,
            "new_checkpoint": None,
            "new_waiting_for": (),
            "new_response": writer.encode(outcome.response),
            "new_error": statements.error_to_json(outcome.error),
            "new_starts": count_starts_after_outcome(status, starts, start),
        },
    )
    if has_checkpoint or more.staged.checkpoints:
        delete_logs(connection, number)
    add_entries(connection, more.outbound)
    delete_entries(connection, run_id)
    return FinishResult(True, _add_events(connection, session_id, more.events(recorded), more.at, writer), recorded)


def _request_cancel(connection: Connection, run_id: str) -> Run:
    connection.execute(statements.UPDATE_CANCEL, {"which": run_id})
    return _get(connection, run_id)


def _replace_text(connection: Connection, run_id: str, text: str, origin: Mapping[str, Any]) -> bool:
    _get(connection, run_id)
    values = {"which": run_id, "queued": "queued", "none": 0, "new_text": text, "new_origin": origin}
    return bool(statements.UPDATE_TEXT.execute(connection, values))


def _change_owner(connection: Connection, run_id: str, owner: str) -> Run:
    previous = _get(connection, run_id)
    run = give_to(previous, owner)
    values = {"owner": run.owner, "checkpoint": TextWriter(connection, run.session_id).encode(run.checkpoint)}
    connection.execute(update(runs).where(statements.BY_ID).values(values), {"which": run_id})
    taken = inbound.alias()
    is_taken = exists().where(
        taken.c.channel == inbound.c.channel, taken.c.account == owner, taken.c.external_id == inbound.c.external_id
    )
    own = (inbound.c.run == run.order) & (inbound.c.account == previous.owner)
    connection.execute(update(inbound).where(own, ~is_taken).values(account=owner))
    return run


def _get(connection: Connection, run_id: str) -> Run:
    run = _find(connection, run_id)
    if run is None:
        raise _not_found(connection, run_id)
    return run


def _find(connection: Connection, run_id: str) -> Run | None:
    found = statements.SELECT_RUN.fetch_record(connection, {"which": run_id})
    return None if found is None else statements.run_from_row(connection, found)


def _find_by_key(connection: Connection, key: InboundKey) -> Run | None:
    found = statements.SELECT_BY_INBOUND_KEY.fetch_record(connection, asdict(key))
    return None if found is None else statements.run_from_row(connection, found)


def _count_ahead(connection: Connection, run_id: str) -> int:
    run = _get(connection, run_id)
    if run.status != "queued":
        return 0
    before: tuple[ColumnElement[bool], ...] = (statements.has_status("queued"), runs.c.number < run.order)
    return connection.execute(select(func.count()).select_from(runs).where(*before)).scalar_one()


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


def _not_found(connection: Connection, run_id: str) -> Exception:
    newest = connection.execute(select(runs.c.id).order_by(runs.c.number.desc()).limit(SUGGESTION_POOL_SIZE))
    return run_not_found(run_id, newest.scalars())
