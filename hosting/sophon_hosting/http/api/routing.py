"""`/api/routing`: the averages that routing has observed, their reset, and what would be chosen for a message."""

from typing import Annotated

from aiohttp import web

from sophon.value_rules import ValueRules
from sophon_hosting.http.json_io import RequestQuery, get_authorized_host, json_response, parse_query


class RouteExplanationQuery(RequestQuery):
    """Query of the explanation: the message."""

    text: Annotated[str, ValueRules(min_length=1, max_length=8000)]


def routing_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    return [
        web.get("/api/routing", list_averages),
        web.get("/api/routing/explain", explain_route),
        web.post("/api/routing/reset", reset_averages),
    ]


async def list_averages(request: web.Request) -> web.Response:
    """Return strategy and tiers, and the moving averages of cost, latency and quality by model, tier and task type."""
    routing = get_authorized_host(request).routing
    return json_response({**routing.describe(), "items": await routing.list_averages()})


async def explain_route(request: web.Request) -> web.Response:
    """Return which models a message would be sent to, and why; nothing is sent."""
    query = parse_query(request, RouteExplanationQuery)
    return json_response({"explanation": await get_authorized_host(request).routing.explain(query.text)})


async def reset_averages(request: web.Request) -> web.Response:
    """Forget the averages and the demotions of models; return how many averages there were."""
    return json_response({"deleted": await get_authorized_host(request).routing.reset()})
