"""Error middleware: converts exceptions to JSON error responses."""

from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from sophon_hosting.client_api.client_errors import ErrorPayload, to_error_payload
from sophon_hosting.client_api.http_json import RESPONSE_STARTED, error_response

CODE_BY_STATUS = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}
"""Error codes by HTTP status."""

RequestHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def convert_errors() -> Middleware:
    """Return a middleware that converts exceptions to JSON error responses; unexpected ones reveal no details."""

    @web.middleware
    async def middleware(request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _response_from_http_exception(request, error)
        except Exception as error:
            # A second response would corrupt the first; aiohttp closes the connection instead. A client that has
            # disconnected gets none, and is no internal error.
            if RESPONSE_STARTED in request or (isinstance(error, ConnectionError) and is_disconnected(request)):
                raise
            return error_response(to_error_payload(error))

    return middleware


def is_disconnected(request: web.BaseRequest) -> bool:
    """Return whether the client of a request has disconnected."""
    return request.transport is None or request.transport.is_closing()


def _response_from_http_exception(request: web.Request, error: web.HTTPException) -> web.StreamResponse:
    """Return the JSON response for aiohttp's own errors: unknown path, wrong method, body too large."""
    if error.status < 400:
        return error
    messages = {404: f"not found: {request.path}", 405: f"method {request.method} is not allowed for {request.path}"}
    code = CODE_BY_STATUS.get(error.status, "input" if error.status < 500 else "internal")
    response = error_response(ErrorPayload(code, messages.get(error.status, error.reason), error.status))
    if isinstance(error, web.HTTPMethodNotAllowed):
        response.headers[hdrs.ALLOW] = ", ".join(sorted(error.allowed_methods))
    return response
