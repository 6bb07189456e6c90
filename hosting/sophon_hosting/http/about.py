"""`/api/me`, `/api/chain`, `/api/models` and `/api/tools`: information about the host and the current user."""

from typing import Any

from aiohttp import web

from sophon._version import __version__
from sophon.placement import name_of, place_of
from sophon.tools.tool import Tool
from sophon_hosting.http.exchange import answer, desk_of, host_of


def host_info_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    return [
        web.get("/api/me", me),
        web.get("/api/chain", chain),
        web.get("/api/models", models),
        web.get("/api/tools", tools),
    ]


async def me(request: web.Request) -> web.Response:
    """Return the user of the request, and the version of the host."""
    user = desk_of(request).user
    return answer({"user": user.id, "operator": user.operator, "version": __version__})


async def chain(request: web.Request) -> web.Response:
    """Return the running chain, as the text of `explain()` and as data."""
    pipeline = host_of(request).chain
    middlewares = [{"name": name_of(each), "zone": place_of(each).zone or "any"} for each in pipeline]
    return answer({"explained": pipeline.explain(), "middlewares": middlewares})


async def models(request: web.Request) -> web.Response:
    """Return the providers in order of priority, with health and models; attempts and errors for operators only."""
    host, user = host_of(request), desk_of(request).user
    now = host.services.clock.monotonic()
    rows: list[dict[str, Any]] = []
    for provider in host.services.gateway.providers:
        statistics = provider.statistics(now)
        row: dict[str, Any] = {
            "provider": provider.id,
            "health": statistics.health,
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
            row |= {
                "attempts": statistics.attempts,
                "failures": statistics.failures,
                "last_error": statistics.last_error,
            }
        rows.append(row)
    return answer({"items": rows})


async def tools(request: web.Request) -> web.Response:
    """Return the tools, with their risk and the JSON Schema of their arguments."""
    return answer({"items": [_tool_to_json(each) for each in host_of(request).services.registry]})


def _tool_to_json(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "risk": tool.risk.label,
        "group": tool.group,
        "tags": list(tool.tags),
        "editable": tool.editable,
        "parameters": dict(tool.parameters),
    }
