"""aiohttp application of a host: its routes and its HTTP middlewares."""

from collections.abc import Callable, Sequence
from pathlib import Path

from aiohttp import web

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.contract import Channel
from sophon_hosting.client_api.authentication.client_authentication import ClientAuthenticator
from sophon_hosting.client_api.authentication.login_throttle import LoginThrottle
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.client_api.caller_connection import ServedProcess
from sophon_hosting.client_api.client_address import TrustedProxies
from sophon_hosting.client_api.http_json import HOST, MAX_BODY_BYTES, PROCESS
from sophon_hosting.features.registry import list_routes, load_operations
from sophon_hosting.host import Host
from sophon_hosting.http.connections.connection_middlewares import delay_failed_login, limit_body_time, mark_as_serving
from sophon_hosting.http.connections.limits import REQUEST_SECONDS
from sophon_hosting.http.error_middleware import convert_errors
from sophon_hosting.http.health import health_routes
from sophon_hosting.http.metrics_route import RenderMetrics, metrics_routes
from sophon_hosting.http.middlewares import (
    add_cors_headers,
    bind_trace,
    check_host,
    check_origin,
    delay_refused_webhooks,
    refuse_foreign_fetches,
    require_auth,
    require_json,
)
from sophon_hosting.http.openapi_route import openapi_routes
from sophon_hosting.http.operation_routes import operation_routes
from sophon_hosting.http.response_headers import add_default_headers
from sophon_hosting.http.web_page import BUILT_FOLDER, fallback_page_routes, is_page_built, web_page_routes
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.store.contract import host_store


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Options of the HTTP application.

    `render_metrics` renders the response of `/metrics`; if None, the path does not exist. `web_folder` is the folder of
    the built web page. `channels` are listed at `/api/channels`, and started again by `attach_channel`. `throttle`
    delays failed log-ins. `instance_id` is shown by `/healthz`.
    """

    render_metrics: RenderMetrics | None = None
    web_folder: Path = BUILT_FOLDER
    channels: Sequence[Channel] = ()
    attach_channel: Callable[[str], bool] | None = None
    throttle: LoginThrottle | None = None
    instance_id: str = ""


def make_app(host: Host, access: TokenAuthenticator, options: HttpOptions | None = None) -> web.Application:
    """Return the application with all routes except `/socket.io/`, which the hub adds.

    The HTTP middlewares apply to `/socket.io/` too.
    """
    chosen, hub = options or HttpOptions(), host.services.settings.section(HubSettings)
    delay_failure = delay_failed_login(
        chosen.throttle or LoginThrottle(host.services.clock), TrustedProxies(hub.trusted_proxies)
    )
    operations = load_operations().operations
    uploads = {
        each.path: each.options.upload_bytes(host.services.settings)
        for each in operations
        if each.options.upload_bytes is not None
    }
    clients = ClientAuthenticator(access, host_store(host.services), host.services.clock)
    app = web.Application(
        client_max_size=MAX_BODY_BYTES,
        middlewares=[
            bind_trace(),
            mark_as_serving(),
            check_host(hub.host, [*hub.allowed_hosts, *hub.allowed_origins]),
            refuse_foreign_fetches(hub.allowed_origins),
            check_origin(hub.allowed_origins),
            limit_body_time(REQUEST_SECONDS, uploads),
            delay_refused_webhooks(delay_failure),
            convert_errors(),
            require_auth(host, clients, delay_failure),
            require_json(uploads),
        ],
    )
    app.on_response_prepare.extend([add_default_headers, add_cors_headers])
    app[HOST] = host
    app[PROCESS] = ServedProcess(chosen.channels, chosen.attach_channel)
    app.add_routes(operation_routes(operations))
    if is_page_built(chosen.web_folder):
        app.add_routes(web_page_routes(chosen.web_folder))
    else:
        app.add_routes(fallback_page_routes(access, metrics=chosen.render_metrics is not None))
    app.add_routes(openapi_routes())
    app.add_routes([*health_routes(chosen.instance_id), *metrics_routes(chosen.render_metrics)])
    app.add_routes(list_routes(host))
    return app
