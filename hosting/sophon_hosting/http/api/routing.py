"""`/api/routing`: the averages of routing, their reset, and what would be chosen for a message; for operators only."""

import logging
from typing import Annotated

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon_hosting.features.learning.results import (
    ResetAverages,
    RouteExplanation,
    RoutingOverview,
    RoutingTier,
    route_average_to_json,
)
from sophon_hosting.http.json_io import RequestQuery, get_operator, json_response, parse_query

log = logging.getLogger("sophon")


class RouteExplanationQuery(RequestQuery):
    """Query of the explanation: the message."""

    text: Annotated[str, ValueRules(min_length=1, max_length=8000)]


routes = web.RouteTableDef()


@routes.get("/api/routing")
async def list_averages(request: web.Request) -> web.Response:
    """Return strategy and tiers, and the moving averages of cost, latency and quality by model, tier and task type."""
    operator = get_operator(request)
    settings = operator.host.services.settings
    tiers: list[RoutingTier] = [
        {"name": each.name, "models": list(each.models), "complexity": list(each.complexity or ())}
        for each in settings.routing.tiers
    ]
    overview: RoutingOverview = {
        "strategy": settings.routing.strategy,
        "selection": settings.routing.selection,
        "tiers": tiers,
        "items": [route_average_to_json(each) for each in await operator.store.route_averages.list_all()],
    }
    return json_response(overview)


@routes.get("/api/routing/explain")
async def explain_route(request: web.Request) -> web.Response:
    """Return which models a message of the user would be sent to, and why; nothing is sent."""
    query, operator = parse_query(request, RouteExplanationQuery), get_operator(request)
    found = await operator.host.services.explain_route(query.text, principal=operator.user.id)
    explanation: RouteExplanation = {"explanation": found}
    return json_response(explanation)


@routes.post("/api/routing/reset")
async def reset_averages(request: web.Request) -> web.Response:
    """Forget the averages and the demotions of models; return how many averages there were; logged."""
    operator = get_operator(request)
    count = await operator.host.services.router.reset(operator.store)
    log.info("routing was reset by %s: %d averages were deleted", operator.user.id, count)
    reset: ResetAverages = {"deleted": count}
    return json_response(reset)
