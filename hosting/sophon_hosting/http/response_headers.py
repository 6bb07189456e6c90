"""Default headers of every response: security headers (CSP), caching, and Server."""

from aiohttp import hdrs, web

from sophon_hosting.client_api.http_json import RESPONSE_STARTED

DEFAULT_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""Default response headers; a response may override them. `X-Frame-Options` is for browsers without `frame-ancestors`.
"""

SERVER_HEADER = "sophon"
"""Value of the Server header; aiohttp's default reveals its version and that of Python."""


async def add_default_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add `DEFAULT_HEADERS` to a response; `on_response_prepare` signal, so that streamed responses have them too."""
    request[RESPONSE_STARTED] = True
    for name, value in DEFAULT_HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers[hdrs.SERVER] = SERVER_HEADER
