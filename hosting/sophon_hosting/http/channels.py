"""`/api/channels`: where else people write from, and how these are."""

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from sophon_channels.contract import Channel
from sophon_hosting.http.exchange import answer, desk_of


def routes(channels: Sequence[Channel]) -> list[web.RouteDef]:
    """All of them."""

    async def listed(request: web.Request) -> web.Response:
        """Every channel that is configured; why one fails, and what it counts, is for operators."""
        operator = desk_of(request).user.operator
        return answer({"items": [_view(each, operator=operator) for each in channels]})

    return [web.get("/api/channels", listed)]


def _view(channel: Channel, *, operator: bool) -> dict[str, Any]:
    health = channel.health
    view: dict[str, Any] = {"name": channel.name, "state": health.state}
    if operator:
        view |= {
            "account": channel.account,
            "detail": health.detail,
            "last_arrival": health.last_arrival.isoformat() if health.last_arrival else None,
            "counts": dict(health.counts),
        }
    return view
