"""What stands before every request: who may ask, from where, and what becomes of an error."""

import logging
from collections.abc import Awaitable, Callable, Collection

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from sophon_hosting.access import Access
from sophon_hosting.desk import Desk
from sophon_hosting.failures import Failure, Forbidden, failure_of
from sophon_hosting.host import Host
from sophon_hosting.http.exchange import DESK, TRACE, failed
from sophon_hosting.http.names import NAMELESS, is_known
from sophon_hosting.hub.origins import may_connect
from sophon_hosting.observing.scope import log_scope
from sophon_hosting.observing.traces import trace_of

log = logging.getLogger("sophon")

API = "/api/"
SIGNED = (API, "/v1/")
WEBHOOKS = "/webhooks/"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
ALLOWED_METHODS = "GET, POST, PATCH, DELETE"

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""On every answer that does not say otherwise itself."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answered() -> Middleware:
    """Every error becomes an answer in JSON under `/api/`; nothing of an error that nobody foresaw goes out."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = _of_aiohttp(request, error)
        except Exception as error:  # noqa: BLE001 - the outermost layer of a request
            response = failed(failure_of(error))
        if not response.prepared:
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
        return response

    return guard


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
    """Only pages of this host and of `Hub.AllowedOrigins` may change anything; these are told so (CORS)."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None or not request.path.startswith(SIGNED):
            return await handler(request)
        environ = {"HTTP_HOST": request.headers.get(hdrs.HOST, "")}
        if not may_connect(origin, environ, origins):
            raise Forbidden("this page is none of this host; see Hub.AllowedOrigins")
        preflight = request.method == "OPTIONS" and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers
        response = web.Response(status=204) if preflight else await handler(request)
        if not response.prepared:
            response.headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = origin
            response.headers[hdrs.VARY] = hdrs.ORIGIN
            if preflight:
                response.headers[hdrs.ACCESS_CONTROL_ALLOW_METHODS] = ALLOWED_METHODS
                response.headers[hdrs.ACCESS_CONTROL_ALLOW_HEADERS] = "Authorization, Content-Type"
        return response

    return guard


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


def _of_aiohttp(request: web.Request, error: web.HTTPException) -> web.StreamResponse:
    """What aiohttp itself refuses: no such path, no such method, a body that is too large."""
    if error.status < 400:
        return error
    codes = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}
    sentences = {404: f"there is nothing at {request.path}", 405: f"{request.method} is not possible at {request.path}"}
    code = codes.get(error.status, "input" if error.status < 500 else "internal")
    response = failed(Failure(code, sentences.get(error.status, error.reason), error.status))
    if isinstance(error, web.HTTPMethodNotAllowed):
        response.headers[hdrs.ALLOW] = ", ".join(sorted(error.allowed_methods))
    return response
