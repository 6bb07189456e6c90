"""Operations on traces: how turns went. Users see their own, operators all."""

from typing import Annotated, Final, Literal, TypeAlias, cast

from sophon.errors import NotFound
from sophon.traces.trace import Trace
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.sessions.history_results import RecordView, TurnRecords, record_to_json
from sophon_hosting.features.sessions.visible_history import cut_large_fields, read_records
from sophon_hosting.features.traces.replay.recorded_turn import find_turn_owner
from sophon_hosting.features.traces.results import (
    OtlpTrace,
    TraceDetails,
    TraceList,
    trace_summary_to_json,
    trace_to_json,
)
from sophon_hosting.features.traces.visible_trace import to_client_trace
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.request import Doc, Everything, Limit, Request
from sophon_hosting.operations.shared_subjects import SESSION
from sophon_hosting.operations.table import Table
from sophon_hosting.runs.traces import build_live_trace
from sophon_hosting.settings.telemetry import TelemetrySettings
from sophon_hosting.telemetry.otlp_json import trace_to_otlp_json

table = Table("traces")

RECORDS_PER_READ: Final = 1000
MAX_TURN_MESSAGES: Final = 1000

OwnerAndSession: TypeAlias = tuple[str, str]


async def _find(caller: Caller, task_id: str) -> Trace | None:
    active_run = caller.active_runs.get(task_id)
    live = None if active_run is None else build_live_trace(active_run)
    return live or await caller.store.traces.find(task_id)


TRACE = Subject("trace", "task_id", _find, lambda trace: trace.principal)

TURN: Subject[OwnerAndSession] = Subject(
    "trace", "task_id", lambda caller, row: find_turn_owner(caller.store, row), lambda turn: turn[0]
)
"""Turn that may have no trace."""


class ListTraces(Request):
    """Traces of the user, of one session, or of all users."""

    session_id: Annotated[str | None, Doc("Turns of this session.")] = None
    limit: Limit = 100
    everything: Everything = False


class NamedTrace(Request):
    """The trace of a task."""

    task_id: str


class TraceQuery(NamedTrace):
    """A trace as the API has it, or as OTLP JSON for other trace viewers."""

    format: Literal["json", "otlp"] = "json"


@table.operation("GET /api/traces", needs="Read", errors=(NotFound,))
async def list_traces(caller: Caller, request: ListTraces) -> TraceList:
    """List the traces without their parts, the newest first."""
    stored_id = None
    if request.session_id is not None:
        stored_id = await caller.sessions.find_stored_id(request.session_id)
    principal = None if stored_id is not None else caller.owner_filter(request.everything)
    stored = await caller.store.traces.list(limit=request.limit, principal=principal, session_id=stored_id)
    live = [
        each
        for each in map(build_live_trace, caller.active_runs)
        if each is not None and principal in (None, each.principal) and stored_id in (None, each.session_id)
    ]
    running = {each.run_id for each in live}
    found = [*live, *(each for each in stored if each.run_id not in running)][: request.limit]
    return {"items": [trace_summary_to_json(to_client_trace(caller, each)) for each in found]}


@table.operation("GET /api/traces/{task_id}", needs="Read", on=TRACE)
async def get_trace(caller: Caller, request: TraceQuery, trace: Trace) -> TraceDetails | OtlpTrace:
    """Return the trace of a task; as OTLP it is a download.

    That of a task that runs (status `running`) is the trace up to now, from the process that runs it.
    """
    shown = to_client_trace(caller, trace)
    if request.format == "json":
        return trace_to_json(shown)
    settings = caller.settings
    providers = {each.id: each.type.lower() for each in settings.providers}
    caller.reply.file_name = "trace.otlp.json"
    exported = trace_to_otlp_json(
        shown, service_name=settings.section(TelemetrySettings).service_name, providers=providers
    )
    return cast(OtlpTrace, exported)


@table.operation("GET /api/traces/{task_id}/messages", needs="Read", on=TURN)
async def list_turn_messages(caller: Caller, request: NamedTrace, turn: OwnerAndSession) -> TurnRecords:
    """Return the stored messages of a turn: what its model calls answered, and what its tools returned.

    A turn whose session the user may not read is refused like one that does not exist.
    """
    session_id = caller.sessions.to_client_id(turn[1])
    caller, session = await SESSION.locate(caller, session_id)
    after, items = 0, list[RecordView]()
    while records := await read_records(caller, session, after, limit=RECORDS_PER_READ):
        after = records[-1].seq
        own = [each for each in records if each.run_id == request.task_id and each.message is not None]
        items += [
            cast(RecordView, await cut_large_fields(caller, session, session_id, record_to_json(session_id, each)))
            for each in own
        ]
    return {"items": items[:MAX_TURN_MESSAGES]}
