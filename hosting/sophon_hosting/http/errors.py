"""Error middleware: converts exceptions to JSON error responses."""

from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from sophon_hosting.failures import Failure, failure_of
from sophon_hosting.http.exchange import failed
from sophon_hosting.http.response_headers import BEGUN

CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}
"""Error codes by HTTP status."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answered() -> Middleware:
    """Return a middleware that converts exceptions to JSON error responses; unexpected ones reveal no details."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _response_from_http_exception(request, error)
        except Exception as error:
            if BEGUN in request:  # a second response would corrupt the first; aiohttp closes the connection instead
                raise
            return failed(failure_of(error))

    return middleware


def _response_from_http_exception(request: web.Request, error: web.HTTPException) -> web.StreamResponse:
    """Return the JSON response for aiohttp's own errors: unknown path, wrong method, body too large."""
    if error.status < 400:
        return error
    messages = {404: f"not found: {request.path}", 405: f"method {request.method} is not allowed for {request.path}"}
    code = CODES.get(error.status, "input" if error.status < 500 else "internal")
    response = failed(Failure(code, messages.get(error.status, error.reason), error.status))
    if isinstance(error, web.HTTPMethodNotAllowed):
        response.headers[hdrs.ALLOW] = ", ".join(sorted(error.allowed_methods))
    return response
