"""`/api/channels`: the configured channels and their health."""

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from sophon_channels.contract import Channel
from sophon_hosting.http.json_io import get_authorized_host, json_response


def channel_routes(channels: Sequence[Channel]) -> list[web.RouteDef]:
    """Return the routes of this module."""

    async def list_channels(request: web.Request) -> web.Response:
        """List the configured channels; account, error detail and counters are for operators only."""
        operator = get_authorized_host(request).user.operator
        return json_response({"items": [_channel_to_json(each, operator=operator) for each in channels]})

    return [web.get("/api/channels", list_channels)]


def _channel_to_json(channel: Channel, *, operator: bool) -> dict[str, Any]:
    health = channel.health
    result: dict[str, Any] = {"name": channel.name, "state": health.state}
    if operator:
        result |= {
            "account": channel.account,
            "detail": health.detail,
            "last_arrival": health.last_received_at.isoformat() if health.last_received_at else None,
            "counts": dict(health.counts),
        }
    return result
