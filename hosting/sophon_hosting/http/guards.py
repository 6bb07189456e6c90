"""HTTP middlewares before every handler: trace, Host header, Origin (CORS), authentication, JSON content type."""

from collections.abc import Collection

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from sophon.errors import InputError
from sophon_hosting.access import Access
from sophon_hosting.desk import Desk
from sophon_hosting.failures import Failure
from sophon_hosting.host import Host
from sophon_hosting.http.errors import Handler
from sophon_hosting.http.exchange import DESK, TRACE, check_length, failed
from sophon_hosting.http.names import NAMELESS, is_known
from sophon_hosting.hub.origins import may_connect
from sophon_hosting.observing.scope import log_scope
from sophon_hosting.observing.traces import trace_of

ORIGIN = web.RequestKey("origin", str)
"""The allowed origin of a cross-origin request."""

SIGNED = ("/api/", "/v1/")
"""Path prefixes that require authentication."""

WEBHOOKS = "/webhooks/"
"""Path prefix that is exempt from the check of the Host header."""

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""

PREFLIGHT = {
    hdrs.ACCESS_CONTROL_ALLOW_METHODS: "GET, POST, PATCH, DELETE",
    hdrs.ACCESS_CONTROL_ALLOW_HEADERS: "Authorization, Content-Type",
    hdrs.ACCESS_CONTROL_MAX_AGE: "600",
}
"""Headers of a CORS preflight response; cached for ten minutes, so that a changed setting takes effect soon."""


def traced() -> Middleware:
    """Return a middleware that sets the trace id of a request and its log lines: from `traceparent`, or a new one."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[TRACE] = trace_of(request.headers.get("traceparent"))
        with log_scope(trace_id=request[TRACE]):
            return await handler(request)

    return middleware


def named(host: str, others: Collection[str]) -> Middleware:
    """Return a middleware that rejects requests whose Host header does not name this host, against DNS rebinding."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not request.path.startswith(WEBHOOKS) and not is_known(request.headers.get(hdrs.HOST, ""), host, others):
            return failed(Failure("forbidden", NAMELESS, 403))
        return await handler(request)

    return middleware


def from_here(origins: Collection[str]) -> Middleware:
    """Return a middleware that rejects API requests from pages outside this host and `Hub.AllowedOrigins`.

    Answers CORS preflight requests. Error responses to allowed origins have CORS headers too.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None or not request.path.startswith(SIGNED):
            return await handler(request)
        environ = {"HTTP_HOST": request.headers.get(hdrs.HOST, "")}
        if not may_connect(origin, environ, origins):
            return failed(Failure("forbidden", "this origin is not allowed; see Hub.AllowedOrigins", 403))
        preflight = request.method == "OPTIONS" and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers
        request[ORIGIN] = origin
        return web.Response(status=204, headers=PREFLIGHT) if preflight else await handler(request)

    return middleware


async def readable(request: web.Request, response: web.StreamResponse) -> None:
    """Add CORS headers to the response of an allowed origin; `on_response_prepare` signal."""
    origin = request.get(ORIGIN)
    if origin is not None:
        response.headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = origin
        response.headers[hdrs.ACCESS_CONTROL_EXPOSE_HEADERS] = "Retry-After, Content-Disposition"
        response.headers[hdrs.VARY] = hdrs.ORIGIN


def signed_in(host: Host, access: Access) -> Middleware:
    """Return a middleware that authenticates `/api/` and `/v1/` by `Authorization: Bearer`. Raises Unauthorized.

    A token in the URL is ignored.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(SIGNED):
            scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
            user = access.user(token.strip() if scheme.lower() == "bearer" else None)
            request[DESK] = Desk(host, user)
        return await handler(request)

    return middleware


def in_json() -> Middleware:
    """Return a middleware that requires requests which change something to have a JSON body or none (CSRF protection).

    A foreign page's form can send neither, which protects against browsers that omit the Origin header. The body must
    be uncompressed and within the size limit. Raises InputError, TooLarge.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(SIGNED) and request.method not in SAFE:
            if request.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
                raise InputError("the body is compressed; send it uncompressed")
            if request.can_read_body or hdrs.CONTENT_TYPE in request.headers:
                check_length(request.content_length or 0)
                if request.content_type != "application/json":
                    raise InputError(f"the content type is {request.content_type}; send application/json")
        return await handler(request)

    return middleware
