"""`/api/policy`: what is allowed to whom, and the trial of a call."""

from typing import Annotated, Any

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon_hosting.client_api.client_errors import TooLarge
from sophon_hosting.events.json_encoding import json_bytes
from sophon_hosting.features.guards.policy_overview import describe_access, describe_policy, try_call
from sophon_hosting.features.guards.results import CallTrialView
from sophon_hosting.http.json_io import RequestBody, get_reader, json_response, parse_body

MAX_ARGUMENT_BYTES = 20_000
"""Size of the arguments of a trial, as JSON: the rules read all of it, which takes up to 50 ms of the event loop."""


class TrialBody(RequestBody):
    """Body of a trial: the name of a tool or action type, and the arguments of the call."""

    tool: Annotated[str, ValueRules(min_length=1, max_length=200)]
    arguments: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it


routes = web.RouteTableDef()


@routes.get("/api/policy")
async def get_policy(request: web.Request) -> web.Response:
    """Return the guards, when people are asked, and what happens to calls of each tool; rules for operators only."""
    authorized_host = get_reader(request)
    host, user = authorized_host.host, authorized_host.user
    return json_response(describe_policy(host.services, host.chain, user.id, is_operator=user.operator))


@routes.post("/api/policy/test")
async def try_tool_call(request: web.Request) -> web.Response:
    """Return what the rules say about a call of the user: verdict, tier and rule. The call does not run."""
    body = await parse_body(request, TrialBody)
    size = json_bytes(body.arguments)
    if size > MAX_ARGUMENT_BYTES:
        raise TooLarge("the arguments", size, MAX_ARGUMENT_BYTES, "bytes")
    authorized_host = get_reader(request)
    services, user_id = authorized_host.host.services, authorized_host.user.id
    trial = await try_call(
        body.tool, body.arguments, settings=services.settings, folder=services.folder, principal=user_id
    )
    result: CallTrialView = {**trial.to_json(), **describe_access(services, body.tool, user_id)}
    return json_response(result)
