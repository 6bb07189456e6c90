"""Transactions of runs: what the writes of `SqlRunStore` do on a connection, with the check of their fences, and the
logs of their checkpoints.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, insert, select

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.attachments.sql import use_attachments
from sophon.stores.attachments.stored_attachment import ids_in_options
from sophon.stores.run_fence import RunFence, StaleRun
from sophon.stores.sessions.contract import SessionBranch, SessionRecord
from sophon.stores.sessions.sql_branches import copy_session
from sophon.stores.sessions.sql_rows import add_records, create_session, find_session
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.texts.sql import TextReader, TextWriter
from sophon.stores.tool_call_journal.sql import delete_entries
from sophon.stores.unit_of_work import NO_WRITES, UnitOfWork, Write, WriteKind
from sophon.stores.usage.contract import UsageRow
from sophon.stores.usage.sql import record_usage
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.store.approval_writes import decide_open_requests
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.events.sql import add_events, select_last_seq
from sophon_hosting.store.outbound_rows import add_entries
from sophon_hosting.store.runs import sql_statements as statements
from sophon_hosting.store.runs.contract import (
    AcceptResult,
    BeginResult,
    EventFactory,
    FinishResult,
    InboundKey,
    LogWrite,
    OutdatedRun,
    Precondition,
    Run,
    RunOutcome,
    Withdrawal,
    no_events,
)
from sophon_hosting.store.runs.transitions import (
    SUGGESTION_POOL_SIZE,
    accept_run,
    begin_run,
    check_precondition,
    check_session_owner,
    check_start,
    count_starts_after_outcome,
    run_id_taken,
    run_not_found,
    suspend_run,
)
from sophon_hosting.store.tables import checkpoint_logs, runs

_SELECT_STARTS = PreparedStatement(lambda _: select(runs.c.starts).where(runs.c.id == bindparam("which")))

_OF_RUN = checkpoint_logs.c.run == bindparam("number")
_DELETE_LOGS = PreparedStatement(lambda _: delete(checkpoint_logs).where(_OF_RUN))
_CUT_LOG = PreparedStatement(
    lambda _: delete(checkpoint_logs).where(
        _OF_RUN, checkpoint_logs.c.log == bindparam("which"), checkpoint_logs.c.position >= bindparam("start")
    )
)
_INSERT_LOG_ENTRIES = PreparedStatement(lambda _: insert(checkpoint_logs))
_SELECT_LOGS = (
    select(checkpoint_logs.c.log, checkpoint_logs.c.entry)
    .where(_OF_RUN)
    .order_by(checkpoint_logs.c.log, checkpoint_logs.c.position)
)


@dataclass(frozen=True, slots=True)
class Additions:
    """What is stored together with a change of a run."""

    at: datetime
    records: Sequence[SessionRecord] = ()
    outbound: Sequence[OutboundEntry] = ()
    usage: Sequence[UsageRow] = ()
    events: EventFactory = no_events
    unit: UnitOfWork = NO_WRITES


def accept(
    connection: Connection,
    run: Run,
    key: InboundKey | None,
    session_owner: str | None,
    branch: SessionBranch | None,
    more: Additions,
    precondition: Precondition | None,
    versions: Mapping[str, Select[Any]],
) -> AcceptResult:
    known = find_by_key(connection, key) if key is not None else None
    if known is not None:
        return AcceptResult(known, created=False)
    if precondition is not None:
        version = connection.execute(versions[precondition.kind], {"which": precondition.id}).scalar()
        check_precondition(precondition, version)
    if statements.SELECT_NUMBER.fetch_row(connection, {"which": run.id}) is not None:
        raise run_id_taken(run.id)
    if branch is not None:
        copy_session(connection, branch.session_id, run.session_id, branch.upto, more.at, branch=True)
    if session_owner is not None:
        check_session_owner(run, find_session(connection, run.session_id), session_owner)
    create_session(connection, run.session_id, session_owner or run.owner, more.at, run.text)
    if run.options.get("attachments"):
        use_attachments(connection, run.session_id, ids_in_options(run.options), session_owner or run.owner)
    options = TextWriter(connection, run.session_id).encode(run.options)  # images may be among them
    statements.INSERT_RUN.execute(connection, statements.row_from_run(run, more.at) | {"options": options})
    inserted = statements.SELECT_NUMBER.fetch_row(connection, {"which": run.id})
    assert inserted is not None
    if key is not None:
        statements.INSERT_INBOUND_KEY.execute(connection, {**asdict(key), "run": inserted[0]})
    _apply(connection, more.unit)
    seq = add_events(connection, run.session_id, more.events(0), more.at)
    return AcceptResult(accept_run(run, inserted[0], more.at), created=True, seq=seq)


def begin(
    connection: Connection,
    run_id: str,
    at: datetime,
    seen_starts: int | None,
    seen_text: str | None,
    more: Additions,
) -> BeginResult:
    _apply(connection, more.unit)
    found = statements.SELECT_TO_BEGIN.fetch_row(connection, {"which": run_id})
    if found is None:
        raise not_found(connection, run_id)
    *columns, earlier = found
    run = statements.run_from_row(connection, columns)
    result = begin_run(run, at, waits_for=earlier or "", seen_starts=seen_starts, seen_text=seen_text)
    if result.verdict == "begun":
        run = result.run
        statements.UPDATE_BEGIN.execute(
            connection,
            {
                "which": run_id,
                "new_status": run.status,
                "new_starts": run.starts,
                "new_started_at": run.started_at,
                "new_waiting_for": run.waiting_for,
            },
        )
    if result.verdict in ("over", "waits"):
        return result
    session_id, writer = result.run.session_id, None
    recorded = 0
    if more.records:
        writer = TextWriter(connection, session_id)
        recorded = add_records(connection, session_id, more.records, owner="", text_writer=writer)
    return replace(
        result,
        seq=add_events(connection, session_id, more.events(recorded), more.at, writer),
        last_record_seq=recorded,
    )


def record(
    connection: Connection, session_id: str, unit: UnitOfWork, events: Sequence[LoggedEvent], at: datetime
) -> int:
    _apply(connection, unit)
    return add_events(connection, session_id, events, at)


def _apply(connection: Connection, unit: UnitOfWork) -> None:
    check_fences(connection, unit.fences)
    for write in sorted(unit.writes, key=attrgetter("kind")):
        write.apply(connection)


def checkpoint_write(run_id: str, state: Mapping[str, Any], logs: Sequence[LogWrite] = ()) -> Write:
    """Return the write of a checkpoint, which owns the state from then on, and of what is new in its logs.

    It raises NotFound for an unknown run, and changes nothing if the run is not running. Writing the same again changes
    nothing.
    """
    return Write(WriteKind.CHECKPOINT, partial(_write_checkpoint, run_id=run_id, state=state, logs=logs), run_id)


def _write_checkpoint(connection: Connection, run_id: str, state: Mapping[str, Any], logs: Sequence[LogWrite]) -> None:
    found = statements.SELECT_STATE.fetch_row(connection, {"which": run_id})
    if found is None:
        raise not_found(connection, run_id)
    session_id, number = found[0], found[2]
    writer = TextWriter(connection, session_id)
    values = {"which": run_id, "running": "running", "state": writer.encode(state)}
    if statements.UPDATE_CHECKPOINT.execute(connection, values):
        write_logs(connection, number, logs, writer)


def suspend(
    connection: Connection,
    run_id: str,
    state: Mapping[str, Any],
    waiting_for: Sequence[str],
    logs: Sequence[LogWrite],
    unit: UnitOfWork,
) -> Run:
    found = get(connection, run_id)
    _apply(connection, unit)
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


def load_logs(connection: Connection, run_id: str) -> Mapping[int, Sequence[Any]]:
    found = statements.SELECT_STATE.fetch_row(connection, {"which": run_id})
    if found is None:
        raise not_found(connection, run_id)
    return load_entries(connection, found[2], TextReader(connection, found[0]))


def finish(
    connection: Connection,
    run_id: str,
    outcome: RunOutcome,
    start: int | None,
    seen_starts: int | None,
    more: Additions,
    *,
    unless_running: bool,
    withdrawal: Withdrawal | None,
) -> FinishResult:
    found = statements.SELECT_STATE.fetch_row(connection, {"which": run_id})
    if found is None:
        raise not_found(connection, run_id)
    session_id, finished_at, number, has_checkpoint, status, starts = found
    if start is not None:
        check_start(run_id, start, starts)
    _apply(connection, more.unit)
    if unless_running and status == "running":
        return FinishResult(is_first=False, seq=select_last_seq(connection, session_id), is_running=True)
    record_usage(connection, more.usage)
    if finished_at is not None:
        return FinishResult(is_first=False, seq=select_last_seq(connection, session_id))
    if seen_starts is not None and starts != seen_starts:
        raise OutdatedRun(run_id)
    if withdrawal is not None:
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
            "new_error": outcome.error.to_json() if outcome.error is not None else None,
            "new_starts": count_starts_after_outcome(status, starts, start),
        },
    )
    if has_checkpoint or any(write.kind is WriteKind.CHECKPOINT for write in more.unit.writes):
        _DELETE_LOGS.execute(connection, {"number": number})
    if more.outbound:
        add_entries(connection, more.outbound)
    delete_entries(connection, run_id)
    return FinishResult(True, add_events(connection, session_id, more.events(recorded), more.at, writer), recorded)


def request_cancel(connection: Connection, run_id: str) -> Run:
    connection.execute(statements.UPDATE_CANCEL, {"which": run_id})
    return get(connection, run_id)


def replace_text(connection: Connection, run_id: str, text: str, origin: Mapping[str, Any]) -> bool:
    get(connection, run_id)
    values = {"which": run_id, "queued": "queued", "none": 0, "new_text": text, "new_origin": origin}
    return bool(statements.UPDATE_TEXT.execute(connection, values))


def get(connection: Connection, run_id: str) -> Run:
    run = find(connection, run_id)
    if run is None:
        raise not_found(connection, run_id)
    return run


def find(connection: Connection, run_id: str) -> Run | None:
    found = statements.SELECT_RUN.fetch_row(connection, {"which": run_id})
    return None if found is None else statements.run_from_row(connection, found)


def find_by_key(connection: Connection, key: InboundKey) -> Run | None:
    found = statements.SELECT_BY_INBOUND_KEY.fetch_row(connection, asdict(key))
    return None if found is None else statements.run_from_row(connection, found)


def not_found(connection: Connection, run_id: str) -> Exception:
    newest = connection.execute(select(runs.c.id).order_by(runs.c.number.desc()).limit(SUGGESTION_POOL_SIZE))
    return run_not_found(run_id, newest.scalars())


def check_fences(connection: Connection, fences: Iterable[RunFence]) -> None:
    """Raise StaleRun for an old fence, and for that of a run that was deleted with its session."""
    for fence in fences:
        found = _SELECT_STARTS.fetch_row(connection, {"which": fence.run_id})
        if found is None:
            # A new session may have the id of the deleted one: nothing of the old one belongs in it.
            raise StaleRun(fence.run_id, fence.start)
        check_start(fence.run_id, fence.start, found[0])


def write_logs(connection: Connection, number: int, writes: Sequence[LogWrite], writer: TextWriter) -> None:
    """Write to the logs of the run with a row number."""
    for write in writes:
        _CUT_LOG.execute(connection, {"number": number, "which": write.log, "start": write.start})
    rows = [
        {"run": number, "log": write.log, "position": position, "entry": writer.encode(entry)}
        for write in writes
        for position, entry in enumerate(write.entries, write.start)
    ]
    if rows:
        _INSERT_LOG_ENTRIES.execute_many(connection, rows)


def load_entries(connection: Connection, number: int, reader: TextReader) -> Mapping[int, Sequence[Any]]:
    """Return the entries of the logs of a run by the log's number."""
    logs: dict[int, list[Any]] = {}
    for log, entry in connection.execute(_SELECT_LOGS, {"number": number}):
        logs.setdefault(log, []).append(reader.decode(entry))
    return logs
