"""`/api/agents`: the agents that are defined in files, and the sub-agents that work, which can be cancelled."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from aiohttp import web

from sophon.errors import NotFound
from sophon_hosting.features.agents.results import (
    AgentList,
    CancelledSubAgent,
    SubAgentCancelState,
    agent_details_to_json,
    agent_to_json,
    sub_agent_to_json,
)
from sophon_hosting.http.json_io import (
    RequestBody,
    RequestQuery,
    get_authorized_host,
    get_host,
    get_reader,
    json_response,
    parse_body,
    parse_query,
)

if TYPE_CHECKING:
    from sophon.agents.catalog import AgentSet
    from sophon.agents.definition import AgentDefinition


class AgentListQuery(RequestQuery):
    """Query of the list of agents; `everything` (the sub-agents of all users) is for operators."""

    everything: bool = False


class CancelBody(RequestBody):
    """Body of a cancellation: the run id of a sub-agent."""

    agent_id: str


routes = web.RouteTableDef()


@routes.get("/api/agents")
async def list_agents(request: web.Request) -> web.Response:
    """List the agents, the problems of files for operators, and the sub-agents that work or wait now."""
    query, authorized_host = parse_query(request, AgentListQuery), get_authorized_host(request)
    found = await _read(request)
    running = [
        sub_agent_to_json(each) for each in await authorized_host.list_running_sub_agents(all_users=query.everything)
    ]
    agents: Mapping[str, AgentDefinition] = {} if found is None else found.agents
    body: AgentList = {"items": [agent_to_json(each) for each in agents.values()], "running": running}
    if authorized_host.user.operator:
        body["problems"] = [] if found is None else [str(each) for each in found.problems]
    return json_response(body)


@routes.get("/api/agents/{name}")
async def get_agent(request: web.Request) -> web.Response:
    """Return one agent, for operators with its prompt. Raises NotFound."""
    authorized_host, name = get_reader(request), request.match_info["name"]
    found = await _read(request)
    agent = None if found is None else found.agents.get(name)
    if agent is None:
        raise NotFound("agent", name)
    return json_response(agent_details_to_json(agent) if authorized_host.user.operator else agent_to_json(agent))


@routes.post("/api/agents/cancel")
async def cancel_sub_agent(request: web.Request) -> web.Response:
    """Cancel a sub-agent; its turn goes on. One that has ended does not change. Raises NotFound."""
    body = await parse_body(request, CancelBody)
    task_id = body.agent_id.partition("/")[0]
    state = await get_authorized_host(request).cancel_sub_agent(task_id, body.agent_id)
    cancelled: CancelledSubAgent = {"agent_id": body.agent_id, "state": cast(SubAgentCancelState, state)}
    return json_response({"ok": True, **cancelled})


async def _read(request: web.Request) -> "AgentSet | None":
    get_reader(request)
    services = get_host(request).services
    if services.agents is None:
        return None
    return await services.clock.run_in_thread(services.agents.catalog.read)
