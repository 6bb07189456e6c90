"""aiohttp application of a host: its routes and its HTTP middlewares."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from sophon_channels.contract import Channel
from sophon_hosting.access import Access
from sophon_hosting.host import Host
from sophon_hosting.http.about import host_info_routes
from sophon_hosting.http.approvals import approval_routes
from sophon_hosting.http.channels import channel_routes
from sophon_hosting.http.errors import answered
from sophon_hosting.http.exchange import HOST, MOST_BYTES
from sophon_hosting.http.guards import from_here, in_json, named, readable, signed_in, traced
from sophon_hosting.http.health import Render, health_routes
from sophon_hosting.http.memory import memory_routes
from sophon_hosting.http.page import fallback_page_routes
from sophon_hosting.http.queue import queue_routes
from sophon_hosting.http.response_headers import dressed
from sophon_hosting.http.sessions import session_routes
from sophon_hosting.http.tasks import task_routes
from sophon_hosting.http.usage import usage_routes
from sophon_hosting.http.web_page import BUILT, is_built, web_page_routes
from sophon_hosting.openai_api.routes import openai_routes

API_ROUTES = (
    session_routes,
    task_routes,
    approval_routes,
    queue_routes,
    memory_routes,
    usage_routes,
    host_info_routes,
)
"""Route factories of the JSON API that need no options."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Options of the HTTP application.

    `metrics` renders the response of `/metrics`; if None, the path does not exist. `web` is the folder of the built web
    page. `channels` are listed at `/api/channels`.
    """

    metrics: Render | None = None
    web: Path = BUILT
    channels: Sequence[Channel] = ()


def make_app(host: Host, access: Access, options: HttpOptions | None = None) -> web.Application:
    """Return the application with all routes except `/socket.io/`, which the hub adds.

    The HTTP middlewares apply to `/socket.io/` too.
    """
    chosen, hub = options or HttpOptions(), host.services.settings.hub
    app = web.Application(
        client_max_size=MOST_BYTES,
        middlewares=[
            traced(),
            named(hub.host, [*hub.allowed_hosts, *hub.allowed_origins]),
            from_here(hub.allowed_origins),
            answered(),
            signed_in(host, access),
            in_json(),
        ],
    )
    app.on_response_prepare.extend([dressed, readable])
    app[HOST] = host
    for api_routes in API_ROUTES:
        app.add_routes(api_routes())
    if is_built(chosen.web):
        app.add_routes(web_page_routes(chosen.web))
    else:
        app.add_routes(fallback_page_routes(access, metrics=chosen.metrics is not None))
    app.add_routes(health_routes(chosen.metrics))
    app.add_routes(channel_routes(chosen.channels))
    if hub.open_ai_api:
        app.add_routes(openai_routes())
    return app
