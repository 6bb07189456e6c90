"""`/api/routing`: the averages that routing has observed, and their reset."""

from aiohttp import web

from sophon_hosting.http.json_io import get_authorized_host, json_response


def routing_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    return [web.get("/api/routing", list_averages), web.post("/api/routing/reset", reset_averages)]


async def list_averages(request: web.Request) -> web.Response:
    """Return the moving averages of cost, latency and quality by model, tier and task type."""
    return json_response({"items": await get_authorized_host(request).list_route_averages()})


async def reset_averages(request: web.Request) -> web.Response:
    """Forget the averages and the demotions of models; return how many averages there were."""
    return json_response({"deleted": await get_authorized_host(request).reset_routing()})
