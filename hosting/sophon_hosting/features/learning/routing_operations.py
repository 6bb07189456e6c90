"""Operations on routing: its averages, their reset, and what would be chosen for a message; for operators only."""

import logging
from typing import Annotated

from sophon._python.value_rules import ValueRules
from sophon.stores.vectors.contract import POLICIES
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.learning.results import (
    ResetAverages,
    RouteExplanation,
    RoutingOverview,
    route_average_to_json,
)
from sophon_hosting.operations.request import Doc, NoFields, Request
from sophon_hosting.operations.table import Table

table = Table("learning")

log = logging.getLogger("sophon")


class RoutedMessage(Request):
    """A message that is not sent."""

    text: Annotated[str, ValueRules(min_length=1, max_length=8000), Doc("A message.")]


@table.operation("GET /api/routing", needs="Operator")
async def get_routing(caller: Caller, request: NoFields) -> RoutingOverview:
    """Return strategy and tiers, and the moving averages of cost, latency and quality by model, tier and task type."""
    routing = caller.settings.routing
    return {
        "strategy": routing.strategy,
        "selection": routing.selection,
        "tiers": [
            {"name": each.name, "models": list(each.models), "complexity": list(each.complexity or ())}
            for each in routing.tiers
        ],
        "items": [route_average_to_json(each) for each in await caller.store.route_averages.list_all()],
    }


@table.operation("GET /api/routing/explain", needs="Operator")
async def explain_route(caller: Caller, request: RoutedMessage) -> RouteExplanation:
    """Return which models a message of the user would be sent to, in which order, and why; nothing is sent."""
    return {"explanation": await caller.host.services.explain_route(request.text, principal=caller.user.id)}


@table.operation("POST /api/routing/reset", needs="Operator")
async def reset_routing(caller: Caller, request: NoFields) -> ResetAverages:
    """Forget the averages and the demotions of models; return how many averages there were; logged."""
    if (host := caller.running_host) is not None:
        count = await host.services.learning.router.reset(caller.store)
    else:
        await caller.store.vectors.delete(POLICIES)
        count = await caller.store.route_averages.reset()
    log.info("routing was reset by %s: %d averages were deleted", caller.user.id, count)
    return {"deleted": count}
