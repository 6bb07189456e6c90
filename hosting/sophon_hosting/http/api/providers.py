"""`/api/providers`: providers with keys, cool-downs and circuit breaker, and their reset; for operators only."""

from typing import Any

from aiohttp import web

from sophon_hosting.client_api.serialization import provider_to_json
from sophon_hosting.http.json_io import get_authorized_host, json_response


def provider_routes() -> list[web.RouteDef]:
    """Return the routes of this module; all require an operator."""
    return [
        web.get("/api/providers", list_providers),
        web.post("/api/providers/{provider_id}/reset", reset_provider),
    ]


async def list_providers(request: web.Request) -> web.Response:
    """List the providers in order of priority, as this process knows them."""
    authorized_host = get_authorized_host(request)
    now = authorized_host.now()
    items: list[dict[str, Any]] = [provider_to_json(each, now) for each in authorized_host.providers.list()]
    return json_response({"items": items})


async def reset_provider(request: web.Request) -> web.Response:
    """End the cool-downs of a provider, enable its rejected keys and close its circuit. Raises NotFound."""
    authorized_host = get_authorized_host(request)
    statistics = authorized_host.providers.reset(request.match_info["provider_id"])
    return json_response({"ok": True, **provider_to_json(statistics, authorized_host.now())})
