"""The application of a host: its routes, and the guards before them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from sophon_channels.contract import Channel
from sophon_hosting.access import Access
from sophon_hosting.host import Host
from sophon_hosting.http import (
    about,
    approvals,
    channels,
    errors,
    guards,
    health,
    memory,
    page,
    queue,
    sessions,
    tasks,
    usage,
    web_page,
)
from sophon_hosting.http.exchange import HOST, MOST_BYTES
from sophon_hosting.http.health import Render
from sophon_hosting.openai_api import routes as openai_api


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """`metrics` gives what `/metrics` answers; without it there is no such path. `web` is the folder of the page."""

    metrics: Render | None = None
    web: Path = web_page.BUILT
    channels: Sequence[Channel] = ()


def make_app(host: Host, access: Access, options: HttpOptions | None = None) -> web.Application:
    """Everything but `/socket.io/`, which the hub attaches to it; the guards are before that, too."""
    chosen, hub = options or HttpOptions(), host.services.settings.hub
    app = web.Application(
        client_max_size=MOST_BYTES,
        middlewares=[
            guards.traced(),
            guards.named(hub.host, [*hub.allowed_hosts, *hub.allowed_origins]),
            guards.from_here(hub.allowed_origins),
            errors.answered(),
            guards.signed_in(host, access),
            guards.in_json(),
        ],
    )
    app.on_response_prepare.extend([errors.dressed, guards.readable])
    app[HOST] = host
    for room in (sessions, tasks, approvals, queue, memory, usage, about):
        app.add_routes(room.routes())
    if web_page.is_built(chosen.web):
        app.add_routes(web_page.routes(chosen.web))
    else:
        app.add_routes(page.routes(access, metrics=chosen.metrics is not None))
    app.add_routes(health.routes(chosen.metrics))
    app.add_routes(channels.routes(chosen.channels))
    if hub.open_ai_api:
        app.add_routes(openai_api.routes())
    return app
