"""`/api/traces`: how turns went; users see their own, operators all. A replay asks another model or chain."""

from typing import Annotated, Final, Literal, cast

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.errors import NotFound
from sophon_hosting.client_api.areas.replays import TurnReplays
from sophon_hosting.client_api.visible_trace import to_client_trace
from sophon_hosting.features.sessions.history_results import RecordView, TurnRecords, record_to_json
from sophon_hosting.features.sessions.stored_history import cut_large_fields, read_records
from sophon_hosting.features.traces.results import (
    OtlpTrace,
    ReplayChoices,
    ReplayComparison,
    TraceList,
    trace_summary_to_json,
    trace_to_json,
)
from sophon_hosting.http.json_io import (
    RequestBody,
    RequestQuery,
    get_caller,
    get_host,
    get_reader,
    json_response,
    parse_body,
    parse_query,
)
from sophon_hosting.operations.subjects import SESSION
from sophon_hosting.replay.recorded_turn import find_turn_owner
from sophon_hosting.replay.turn_replay import ReplayRequest
from sophon_hosting.runs.traces import build_live_trace
from sophon_hosting.telemetry.otlp_json import trace_to_otlp_json

RECORDS_PER_READ: Final = 1000
MAX_TURN_MESSAGES: Final = 1000


class TraceListQuery(RequestQuery):
    """Query of the list: of one session; `everything` (all users') is for operators."""

    session_id: str | None = None
    limit: Annotated[int, ValueRules(ge=1, le=1000)] = 100
    everything: bool = False


class TraceQuery(RequestQuery):
    """Query of a trace: as the API has it, or as OTLP JSON for other trace viewers."""

    format: Literal["json", "otlp"] = "json"


class ReplayBody(RequestBody):
    """Body of a replay: `chain` is for operators, `model` is `provider/model`, a model, or a provider."""

    chain: Annotated[str, ValueRules(min_length=1, max_length=100)] | None = None
    model: Annotated[str, ValueRules(min_length=1, max_length=300)] | None = None


routes = web.RouteTableDef()


@routes.get("/api/traces")
async def list_traces(request: web.Request) -> web.Response:
    """List the traces without their parts, the newest first."""
    query, caller = parse_query(request, TraceListQuery), get_reader(request)
    stored_id = None
    if query.session_id is not None:
        stored_id = await caller.sessions.find_stored_id(query.session_id)
    if query.everything:
        caller.require_operator()
    principal = None if query.everything or stored_id is not None else caller.user.id
    stored = await get_host(request).services.store.traces.list(
        limit=query.limit, principal=principal, session_id=stored_id
    )
    live = [
        each
        for each in map(build_live_trace, get_host(request).active_runs)
        if each is not None and principal in (None, each.principal) and stored_id in (None, each.session_id)
    ]
    running = {each.run_id for each in live}
    found = [*live, *(each for each in stored if each.run_id not in running)][: query.limit]
    traces: TraceList = {"items": [trace_summary_to_json(to_client_trace(caller, each)) for each in found]}
    return json_response(traces)


@routes.get("/api/traces/{task_id}")
async def get_trace(request: web.Request) -> web.Response:
    """Return the trace of a task. Raises NotFound."""
    query = parse_query(request, TraceQuery)
    caller, task_id = get_reader(request), request.match_info["task_id"]
    host = get_host(request)
    active_run = host.active_runs.get(task_id)
    live = None if active_run is None else build_live_trace(active_run)
    found = live or await host.services.store.traces.find(task_id)
    if found is None or (found.principal != caller.user.id and not caller.user.operator):
        raise NotFound("trace", task_id)
    shown = to_client_trace(caller, found)
    if query.format == "json":
        return json_response(trace_to_json(shown))
    settings = host.services.settings
    providers = {each.id: each.type.lower() for each in settings.providers}
    exported = trace_to_otlp_json(shown, service_name=settings.telemetry.service_name, providers=providers)
    document = cast(OtlpTrace, exported)
    # The id of a task has no character that needs quotes.
    return json_response(document, headers={"Content-Disposition": 'attachment; filename="trace.otlp.json"'})


@routes.get("/api/traces/{task_id}/messages")
async def list_messages(request: web.Request) -> web.Response:
    """Return the stored messages of a turn: what its model calls answered, and what its tools returned.

    Raises NotFound, also for a turn whose session the user may not read.
    """
    caller, task_id = get_reader(request), request.match_info["task_id"]
    owner = await find_turn_owner(get_host(request).services.store, task_id)
    if owner is None or (owner[0] != caller.user.id and not caller.user.operator):
        raise NotFound("trace", task_id)
    session_id = caller.sessions.to_client_id(owner[1])
    caller, session = await SESSION.locate(caller, session_id)
    after, items = 0, list[RecordView]()
    while records := await read_records(caller, session, after, limit=RECORDS_PER_READ):
        after = records[-1].seq
        own = [each for each in records if each.run_id == task_id and each.message is not None]
        items += [
            cast(RecordView, await cut_large_fields(caller, session, session_id, record_to_json(session_id, each)))
            for each in own
        ]
    found: TurnRecords = {"items": items[:MAX_TURN_MESSAGES]}
    return json_response(found)


@routes.get("/api/replay-choices")
async def list_choices(request: web.Request) -> web.Response:
    """Return the models and chains that a replay may ask."""
    choices = cast(ReplayChoices, TurnReplays(get_caller(request)).list_choices())
    return json_response(choices)


@routes.post("/api/traces/{task_id}/replay")
async def replay(request: web.Request) -> web.Response:
    """Replay one of the user's own turns; the model calls are charged, and nothing else changes."""
    body = await parse_body(request, ReplayBody)
    chosen = ReplayRequest(chain=body.chain, model=body.model)
    compared = await TurnReplays(get_caller(request)).run(request.match_info["task_id"], chosen)
    comparison = cast(ReplayComparison, compared)
    return json_response(comparison)
