"""`/api/traces`: how turns went; users see their own, operators all."""

from typing import Annotated

from aiohttp import web

from sophon.errors import NotFound
from sophon.traces.serialization import trace_summary_to_json, trace_to_json
from sophon.value_rules import ValueRules
from sophon_hosting.http.json_io import RequestQuery, get_authorized_host, get_host, json_response, parse_query


class TraceListQuery(RequestQuery):
    """Query of the list: of one session; `everything` (all users') is for operators."""

    session_id: str | None = None
    limit: Annotated[int, ValueRules(ge=1, le=1000)] = 100
    everything: bool = False


def trace_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    return [web.get("/api/traces", list_traces), web.get("/api/traces/{task_id}", get_trace)]


async def list_traces(request: web.Request) -> web.Response:
    """List the traces without their parts, the newest first."""
    query, authorized_host = parse_query(request, TraceListQuery), get_authorized_host(request)
    authorized_host.rights.require_scope("Read")
    stored_id = None
    if query.session_id is not None:
        stored_id = await authorized_host.sessions.find_stored_id(query.session_id)
    if query.everything:
        authorized_host.require_operator()
    principal = None if query.everything or stored_id is not None else authorized_host.user.id
    found = await get_host(request).services.store.traces.list(
        limit=query.limit, principal=principal, session_id=stored_id
    )
    return json_response({"items": [trace_summary_to_json(authorized_host.to_client_trace(each)) for each in found]})


async def get_trace(request: web.Request) -> web.Response:
    """Return the trace of a task. Raises NotFound."""
    authorized_host, task_id = get_authorized_host(request), request.match_info["task_id"]
    authorized_host.rights.require_scope("Read")
    found = await get_host(request).services.store.traces.find(task_id)
    if found is None or (found.principal != authorized_host.user.id and not authorized_host.user.operator):
        raise NotFound("trace", task_id)
    return json_response(trace_to_json(authorized_host.to_client_trace(found)))
