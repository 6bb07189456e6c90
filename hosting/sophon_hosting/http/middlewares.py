"""HTTP middlewares before every handler: trace, Host header, Origin (CORS), authentication, JSON content type."""

import ipaddress
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from sophon.errors import InputError
from sophon_hosting.client_api.allowed_origins import REFUSED_ORIGIN_MESSAGE, are_allowed_origins, is_allowed_origin
from sophon_hosting.client_api.authentication.client_authentication import ClientAuthenticator
from sophon_hosting.client_api.authentication.token_authentication import Unauthorized
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_errors import ErrorPayload
from sophon_hosting.client_api.http_json import CALLER, TRACE, check_body_length, error_response, is_body_empty
from sophon_hosting.host import Host
from sophon_hosting.http.connections.connection_middlewares import WEBHOOK_PATH
from sophon_hosting.http.error_middleware import RequestHandler
from sophon_hosting.http.operation_routes import RequestConnection
from sophon_hosting.observability.log_context import log_context
from sophon_hosting.observability.trace_id import trace_id_from_traceparent

ALLOWED_ORIGIN = web.RequestKey("origin", str)
"""The allowed origin of a cross-origin request."""

AUTHENTICATED_PATHS = ("/api/", "/v1/")
"""Path prefixes that require authentication."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""

BINARY_CONTENT_TYPE = "application/octet-stream"
"""Content type that some clients declare for an empty body, and that no form can send."""

DelayFailure: TypeAlias = Callable[[web.Request, str], Awaitable[None]]
"""Waits before a failed log-in is answered; gets the request and the wrong token."""

PREFLIGHT_HEADERS = {
    hdrs.ACCESS_CONTROL_ALLOW_METHODS: "GET, POST, PATCH, DELETE",
    hdrs.ACCESS_CONTROL_ALLOW_HEADERS: "Authorization, Content-Type, Idempotency-Key",
    hdrs.ACCESS_CONTROL_MAX_AGE: "600",
}
"""Headers of a CORS preflight response; cached for ten minutes, so that a changed setting takes effect soon."""

FOREIGN_SITES = frozenset({"cross-site", "same-site"})
"""Values of `Sec-Fetch-Site` for requests of pages of another origin."""

NAVIGATION_EXCLUDED_PATHS = ("/api/", "/v1/", "/socket.io/")
"""Path prefixes that no link of another page leads to."""

UNKNOWN_HOST_MESSAGE = "the Host header does not name this host; see Hub.AllowedHosts"

LOOPBACK_NAMES = frozenset({"localhost"})


def bind_trace() -> Middleware:
    """Return a middleware that sets the trace id of a request and its log lines: from `traceparent`, or a new one."""

    @web.middleware
    async def middleware(request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        request[TRACE] = trace_id_from_traceparent(request.headers.get("traceparent"))
        with log_context(trace_id=request[TRACE]):
            return await handler(request)

    return middleware


def check_host(bind_host: str, allowed_hosts: Collection[str]) -> Middleware:
    """Return a middleware that rejects requests whose Host header does not name this host, against DNS rebinding."""

    @web.middleware
    async def middleware(request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        if not request.path.startswith(WEBHOOK_PATH) and not is_known_host(
            request.headers.get(hdrs.HOST, ""), bind_host, allowed_hosts
        ):
            return error_response(ErrorPayload("forbidden", UNKNOWN_HOST_MESSAGE, 403))
        return await handler(request)

    return middleware


def refuse_foreign_fetches(allowed_origins: Collection[str]) -> Middleware:
    """Return a middleware that refuses requests that pages of other sites cause, before anything is kept for them.

    Webhooks come from servers, which send no such header, and are exempt.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        if not request.path.startswith(WEBHOOK_PATH) and is_refused_fetch(
            request.method, request.path, request.headers, allowed_origins
        ):
            message = "a page of another site may not request this; see Hub.AllowedOrigins"
            return error_response(ErrorPayload("forbidden", message, 403))
        return await handler(request)

    return middleware


def check_origin(allowed_origins: Collection[str]) -> Middleware:
    """Return a middleware that rejects API requests from pages outside this host and `Hub.AllowedOrigins`.

    Answers CORS preflight requests. Error responses to allowed origins have CORS headers too.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None or not request.path.startswith(AUTHENTICATED_PATHS):
            return await handler(request)
        if not are_allowed_origins(request.headers, allowed_origins):
            return error_response(ErrorPayload("forbidden", REFUSED_ORIGIN_MESSAGE, 403))
        preflight = request.method == "OPTIONS" and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers
        request[ALLOWED_ORIGIN] = origin
        return web.Response(status=204, headers=PREFLIGHT_HEADERS) if preflight else await handler(request)

    return middleware


async def add_cors_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add CORS headers to the response of an allowed origin; `on_response_prepare` signal."""
    origin = request.get(ALLOWED_ORIGIN)
    if origin is not None:
        response.headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = origin
        response.headers[hdrs.ACCESS_CONTROL_EXPOSE_HEADERS] = "Retry-After, Content-Disposition, x-should-retry"
        response.headers[hdrs.VARY] = hdrs.ORIGIN


def require_auth(host: Host, access: ClientAuthenticator, delay_failure: DelayFailure) -> Middleware:
    """Return a middleware that authenticates `/api/` and `/v1/` by `Authorization: Bearer`. Raises Unauthorized.

    A token in the URL is ignored. `delay_failure` is awaited for a wrong token, before the response.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        if request.path.startswith(AUTHENTICATED_PATHS):
            scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
            try:
                user = await access.authenticate(token.strip() if scheme.lower() == "bearer" else None)
            except Unauthorized as error:
                if error.token_given:
                    await delay_failure(request, token)
                raise
            connection = RequestConnection(request, host, user, access)
            request[CALLER] = Caller(host, user, connection=connection)
        return await handler(request)

    return middleware


def delay_refused_webhooks(delay_failure: DelayFailure) -> Middleware:
    """Return a middleware that delays refusals of webhooks: a wrong secret or signature."""

    @web.middleware
    async def middleware(request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        response = await handler(request)
        if request.path.startswith(WEBHOOK_PATH) and response.status in (401, 403):
            await delay_failure(request, "")
        return response

    return middleware


def require_json(uploads: Collection[str]) -> Middleware:
    """Return a middleware that requires requests which change something to have a JSON body or none (CSRF protection).

    A foreign page's form can send neither, which protects against browsers that omit the Origin header. An empty body
    may be declared as `application/octet-stream`, or as anything together with `Authorization`, which a form cannot
    send. The body must be uncompressed and within the size limit. What is posted to a path of `uploads` is
    `application/octet-stream` instead, which a form cannot send either. Raises InputError, TooLarge.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        if request.path.startswith(AUTHENTICATED_PATHS) and request.method not in SAFE_METHODS:
            if request.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
                raise InputError("the body is compressed; send it uncompressed")
            if request.path in uploads and request.method == hdrs.METH_POST:
                if request.headers.get(hdrs.CONTENT_TYPE, "").lower() != BINARY_CONTENT_TYPE:
                    raise InputError(f"the content type of an upload must be {BINARY_CONTENT_TYPE}")
            elif request.can_read_body or hdrs.CONTENT_TYPE in request.headers:
                check_body_length(request.content_length or 0)
                if request.content_type != "application/json" and (
                    _may_be_foreign_form(request) or not await is_body_empty(request)
                ):
                    raise InputError(f"the content type is {request.content_type}; send application/json, or no body")
        return await handler(request)

    return middleware


def _may_be_foreign_form(request: web.Request) -> bool:
    """Return whether a form of another page could have sent the request; a malformed content type is taken for one."""
    declared = request.headers.get(hdrs.CONTENT_TYPE, BINARY_CONTENT_TYPE).partition(";")[0].strip().lower()
    return declared != BINARY_CONTENT_TYPE and hdrs.AUTHORIZATION not in request.headers


def is_refused_fetch(method: str, path: str, headers: Mapping[str, str], allowed_origins: Collection[str]) -> bool:
    """Return whether a request was caused by a page of another origin that may not cause it.

    Allowed are: a link (top-level navigation) to a page, an origin of `allowed_origins` that the browser names, and
    every request without the header, which comes from no browser or an old one.

    Source: W3C Fetch Metadata Request Headers. A browser sends `Sec-Fetch-Site` with every request to this machine or
    over TLS, also for `<img>` and `<script>`, which carry no `Origin`; a page cannot set it.
    """
    if headers.get("Sec-Fetch-Site", "").lower() not in FOREIGN_SITES:
        return False
    origin = headers.get(hdrs.ORIGIN)
    if origin and is_allowed_origin(origin, {"HTTP_HOST": headers.get(hdrs.HOST, "")}, allowed_origins):
        return False
    is_navigation = (
        method in ("GET", "HEAD")
        and headers.get("Sec-Fetch-Mode", "").lower() == "navigate"
        and headers.get("Sec-Fetch-Dest", "").lower() == "document"
    )
    return not (is_navigation and not path.startswith(NAVIGATION_EXCLUDED_PATHS))


def is_known_host(header: str, bind_host: str, allowed_hosts: Collection[str]) -> bool:
    """Return whether a Host header names this host.

    True for an IP address, `localhost`, the name the host is bound to, and one of `allowed_hosts`, which are names
    (`Hub.AllowedHosts`) or origins (`Hub.AllowedOrigins`). IP addresses are always allowed: DNS rebinding needs a name.
    """
    name = host_name_from_header(header)
    if name is None:
        return False
    if _is_address(name) or name in LOOPBACK_NAMES or name == bind_host.strip("[]").lower():
        return True
    return any(name == (urlsplit(each).hostname if "://" in each else each.lower()) for each in allowed_hosts)


def host_name_from_header(header: str) -> str | None:
    """Return the name in a Host header, without its port; None if the header is invalid or empty."""
    try:
        parts = urlsplit(f"//{header.strip()}")
        _ = parts.port
    except ValueError:
        return None
    if parts.path or parts.query or parts.fragment or parts.username is not None:
        return None
    return parts.hostname


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
