"""`GET /metrics`: the metrics of a host for Prometheus."""

from collections.abc import Awaitable, Callable

from aiohttp import web

RenderMetrics = Callable[[], Awaitable[bytes]]
"""Renders all metrics in the Prometheus text format."""

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics_routes(render: RenderMetrics | None) -> list[web.RouteDef]:
    """Return the route `/metrics`; none if there is nothing to render."""
    if render is None:
        return []

    async def get_metrics(request: web.Request) -> web.Response:
        return web.Response(body=await render(), headers={"Content-Type": CONTENT_TYPE})

    return [web.get("/metrics", get_metrics)]
