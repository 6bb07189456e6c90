"""What becomes of an error, and what every answer says about itself."""

from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from sophon_hosting.failures import Failure, failure_of
from sophon_hosting.http.exchange import failed

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Server": "sophon",
}
"""On every answer that does not say otherwise itself; without the last one aiohttp would tell its version."""

CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def dressed() -> Middleware:
    """Every answer has `HEADERS`."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if not response.prepared:
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
        return response

    return guard


def answered() -> Middleware:
    """Every error becomes an answer in JSON; nothing of an error that nobody foresaw goes out."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _of_aiohttp(request, error)
        except Exception as error:  # noqa: BLE001 - the outermost layer of a request
            return failed(failure_of(error))

    return guard


def _of_aiohttp(request: web.Request, error: web.HTTPException) -> web.StreamResponse:
    """What aiohttp itself refuses: no such path, no such method, a body that is too large."""
    if error.status < 400:
        return error
    sentences = {404: f"there is nothing at {request.path}", 405: f"{request.method} is not possible at {request.path}"}
    code = CODES.get(error.status, "input" if error.status < 500 else "internal")
    response = failed(Failure(code, sentences.get(error.status, error.reason), error.status))
    if isinstance(error, web.HTTPMethodNotAllowed):
        response.headers[hdrs.ALLOW] = ", ".join(sorted(error.allowed_methods))
    return response
