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
}
"""On every answer that does not say otherwise itself."""

SERVER = "sophon"
"""Else aiohttp would tell its version, and that of Python."""

BEGUN = web.RequestKey("begun", bool)

CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def dressed(request: web.Request, response: web.StreamResponse) -> None:
    """Every answer has `HEADERS`, also one that is streamed: for the moment before it begins."""
    request[BEGUN] = True
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers[hdrs.SERVER] = SERVER


def answered() -> Middleware:
    """Every error becomes an answer in JSON; nothing of an error that nobody foresaw goes out."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _of_aiohttp(request, error)
        except Exception as error:
            if BEGUN in request:  # a second answer would stand in the middle of the first: aiohttp hangs up instead
                raise
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
