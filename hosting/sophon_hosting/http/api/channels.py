"""`/api/channels` and `/api/outbox`: the configured channels with their health, and what they have to send."""

from collections.abc import Callable, Sequence

from aiohttp import web

from sophon.errors import NotFound
from sophon_channels.contract import Channel
from sophon_hosting.features.host.results import AttachedChannel, ChannelList, channel_to_json
from sophon_hosting.http.json_io import get_authorized_host, json_response


def channel_routes(channels: Sequence[Channel], attach: Callable[[str], bool] | None = None) -> list[web.RouteDef]:
    """Return the routes of this module; `attach` starts a channel again that waits for its next start."""

    async def list_channels(request: web.Request) -> web.Response:
        """List the configured channels; account, error detail and counters are for operators only."""
        operator = get_authorized_host(request).user.operator
        listed: ChannelList = {"items": [channel_to_json(each, operator=operator) for each in channels]}
        return json_response(listed)

    async def attach_channel(request: web.Request) -> web.Response:
        """Start a channel at once that could not be started; `attached` is false if it does not wait here for that."""
        get_authorized_host(request).require_operator()
        name = request.match_info["name"]
        if attach is None:
            raise NotFound("channel", name, [])
        attached: AttachedChannel = {"name": name, "attached": attach(name)}
        return json_response(attached)

    async def wake_outbox(request: web.Request) -> web.Response:
        """Send at once what another process, such as a command, has stored in the outbox."""
        authorized = get_authorized_host(request)
        authorized.require_operator()
        authorized.host.wake_outbox()
        return json_response({"ok": True})

    return [
        web.get("/api/channels", list_channels),
        web.post("/api/channels/{name}/attach", attach_channel),
        web.post("/api/outbox/wake", wake_outbox),
    ]
