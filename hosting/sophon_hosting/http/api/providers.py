"""`/api/providers`: providers with keys, cool-downs and circuit breaker, and their reset; for operators only."""

import logging

from aiohttp import web

from sophon_hosting.features.providers.results import ProviderList, provider_to_json
from sophon_hosting.http.json_io import get_operator, json_response

log = logging.getLogger("sophon")


routes = web.RouteTableDef()


@routes.get("/api/providers")
async def list_providers(request: web.Request) -> web.Response:
    """List the providers in order of priority, as this process knows them."""
    operator = get_operator(request)
    now = operator.now()
    gateway = operator.host.services.gateway
    providers: ProviderList = {"items": [provider_to_json(each, now) for each in gateway.statistics()]}
    return json_response(providers)


@routes.post("/api/providers/{provider_id}/reset")
async def reset_provider(request: web.Request) -> web.Response:
    """End the cool-downs of a provider, enable its rejected keys and close its circuit; logged. Raises NotFound."""
    operator, provider_id = get_operator(request), request.match_info["provider_id"]
    gateway = operator.host.services.gateway
    before = gateway.reset_provider(provider_id)
    cooling, disabled = (before.keys.cooling, before.keys.disabled) if before.keys is not None else (0, 0)
    log.info(
        "provider %s was reset by %s: %d keys were cooling down, %d were disabled, the circuit was %s",
        provider_id,
        operator.user.id,
        cooling,
        disabled,
        before.circuit,
    )
    statistics = gateway.find_provider(provider_id).statistics(operator.monotonic())
    return json_response({"ok": True, **provider_to_json(statistics, operator.now())})
