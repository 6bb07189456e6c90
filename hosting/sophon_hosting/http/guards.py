"""What stands before every request: under which name, from which page, by whom, and with what kind of body."""

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
SIGNED = ("/api/", "/v1/")
WEBHOOKS = "/webhooks/"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
PREFLIGHT = {
    hdrs.ACCESS_CONTROL_ALLOW_METHODS: "GET, POST, PATCH, DELETE",
    hdrs.ACCESS_CONTROL_ALLOW_HEADERS: "Authorization, Content-Type",
    hdrs.ACCESS_CONTROL_MAX_AGE: "600",
}
"""What a page of another site is told before it asks; for ten minutes, so that a changed setting is soon seen."""


def traced() -> Middleware:
    """What is logged of a request belongs to the trace of its sender (`traceparent`), or to one of its own."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[TRACE] = trace_of(request.headers.get("traceparent"))
        with log_scope(trace_id=request[TRACE]):
            return await handler(request)

    return guard


def named(host: str, others: Collection[str]) -> Middleware:
    """Only requests to a name of this host: a foreign page cannot reach it under a name of its own (DNS rebinding)."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not request.path.startswith(WEBHOOKS) and not is_known(request.headers.get(hdrs.HOST, ""), host, others):
            return failed(Failure("forbidden", NAMELESS, 403))
        return await handler(request)

    return guard


def from_here(origins: Collection[str]) -> Middleware:
    """Only pages of this host and of `Hub.AllowedOrigins` may ask for anything; these may read errors, too (CORS)."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None or not request.path.startswith(SIGNED):
            return await handler(request)
        environ = {"HTTP_HOST": request.headers.get(hdrs.HOST, "")}
        if not may_connect(origin, environ, origins):
            return failed(Failure("forbidden", "this page is none of this host; see Hub.AllowedOrigins", 403))
        preflight = request.method == "OPTIONS" and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers
        request[ORIGIN] = origin
        return web.Response(status=204, headers=PREFLIGHT) if preflight else await handler(request)

    return guard


async def readable(request: web.Request, response: web.StreamResponse) -> None:
    """The page that was let in may read the answer: for the moment before that begins."""
    origin = request.get(ORIGIN)
    if origin is not None:
        response.headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = origin
        response.headers[hdrs.ACCESS_CONTROL_EXPOSE_HEADERS] = "Retry-After, Content-Disposition"
        response.headers[hdrs.VARY] = hdrs.ORIGIN


def signed_in(host: Host, access: Access) -> Middleware:
    """Under `/api/` and `/v1/` everybody is somebody: by `Authorization: Bearer`, and never by the address."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(SIGNED):
            scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
            user = access.user(token.strip() if scheme.lower() == "bearer" else None)
            request[DESK] = Desk(host, user)
        return await handler(request)

    return guard


def in_json() -> Middleware:
    """What changes something comes as JSON, plain and not too long, or with no body and no word of one.

    A form of a foreign page can send neither: where a browser leaves the origin out, this is left against it.
    """

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(SIGNED) and request.method not in SAFE:
            if request.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
                raise InputError("the body is compressed; send it as it is")
            if request.can_read_body or hdrs.CONTENT_TYPE in request.headers:
                check_length(request.content_length or 0)
                if request.content_type != "application/json":
                    raise InputError(f"the body is {request.content_type}; send it as application/json")
        return await handler(request)

    return guard
