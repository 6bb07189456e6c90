"""What this host is: the user, the chain, the models, the tools."""

from typing import Any

from aiohttp import web

from sophon._version import __version__
from sophon.placement import name_of, place_of
from sophon.tools.tool import Tool
from sophon_hosting.http.exchange import answer, desk_of, host_of


def routes() -> list[web.RouteDef]:
    """All of them."""
    return [
        web.get("/api/me", me),
        web.get("/api/chain", chain),
        web.get("/api/models", models),
        web.get("/api/tools", tools),
    ]


async def me(request: web.Request) -> web.Response:
    """Who asks."""
    user = desk_of(request).user
    return answer({"user": user.id, "operator": user.operator, "version": __version__})


async def chain(request: web.Request) -> web.Response:
    """The running chain, as `explain()` prints it and as data."""
    running = host_of(request).chain
    layers = [{"name": name_of(each), "zone": place_of(each).zone or "any"} for each in running]
    return answer({"explained": running.explain(), "middlewares": layers})


async def models(request: web.Request) -> web.Response:
    """The providers in the order in which they are asked, with their health; failures and keys are for operators."""
    host, user = host_of(request), desk_of(request).user
    now = host.services.clock.monotonic()
    rows: list[dict[str, Any]] = []
    for provider in host.services.gateway.providers:
        counted = provider.statistics(now)
        row: dict[str, Any] = {
            "provider": provider.id,
            "health": counted.health,
            "models": [
                {
                    "model": model.info.name,
                    "context_window": model.info.context_window,
                    "function_calling": model.info.function_calling,
                }
                for model in provider.models
            ],
        }
        if user.operator:
            row |= {"attempts": counted.attempts, "failures": counted.failures, "last_error": counted.last_error}
        rows.append(row)
    return answer({"items": rows})


async def tools(request: web.Request) -> web.Response:
    """The tools, with their risk and the schema of their arguments."""
    return answer({"items": [_tool(each) for each in host_of(request).services.registry]})


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "risk": tool.risk.label,
        "group": tool.group,
        "tags": list(tool.tags),
        "editable": tool.editable,
        "parameters": dict(tool.parameters),
    }
