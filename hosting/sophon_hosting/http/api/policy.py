"""`/api/policy`: what is allowed to whom, and the trial of a call."""

from typing import Annotated, Any

from aiohttp import web

from sophon.value_rules import ValueRules
from sophon_hosting.client_api.client_errors import TooLarge
from sophon_hosting.events.json_encoding import json_bytes
from sophon_hosting.http.json_io import RequestBody, get_authorized_host, json_response, parse_body

MAX_ARGUMENT_BYTES = 20_000
"""Size of the arguments of a trial, as JSON: the rules read all of it, which takes up to 50 ms of the event loop."""


class TrialBody(RequestBody):
    """Body of a trial: the name of a tool or action type, and the arguments of the call."""

    tool: Annotated[str, ValueRules(min_length=1, max_length=200)]
    arguments: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it


def policy_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    return [web.get("/api/policy", get_policy), web.post("/api/policy/test", try_tool_call)]


async def get_policy(request: web.Request) -> web.Response:
    """Return the guards, when people are asked, and what happens to calls of each tool; rules for operators only."""
    return json_response(get_authorized_host(request).policy.describe())


async def try_tool_call(request: web.Request) -> web.Response:
    """Return what the rules say about a call of the user: verdict, tier and rule. The call does not run."""
    body = await parse_body(request, TrialBody)
    size = json_bytes(body.arguments)
    if size > MAX_ARGUMENT_BYTES:
        raise TooLarge("the arguments", size, MAX_ARGUMENT_BYTES, "bytes")
    return json_response(get_authorized_host(request).policy.try_call(body.tool, body.arguments))
