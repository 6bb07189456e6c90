"""HTTP middlewares that tell the connection what is served, and set the deadline for the body of a request."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext

from aiohttp import web
from aiohttp.streams import StreamReader
from aiohttp.typedefs import Middleware

from sophon_hosting.client_api.authentication.login_throttle import LoginThrottle
from sophon_hosting.client_api.client_address import TrustedProxies
from sophon_hosting.client_api.client_errors import BodyTimeout
from sophon_hosting.http.connections.http_connection import HttpConnection
from sophon_hosting.http.error_middleware import RequestHandler

WEBHOOK_PATH = "/webhooks/"
"""Path prefix of the webhooks, whose sender is known only by a signature over the body."""

WEBHOOK_BODY_SECONDS = 5.0
"""Time for the body of a webhook: at most 3 MB, from a platform's data center."""


UPLOAD_BYTES_PER_SECOND = 50_000
"""Lowest rate at which a file may arrive: a slow mobile connection."""


def mark_as_serving() -> Middleware:
    """Return a middleware that protects the connection from replacement while its request is served."""

    @web.middleware
    async def middleware(request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        connection = request.protocol
        with connection.serving(request) if isinstance(connection, HttpConnection) else nullcontext():
            return await handler(request)

    return middleware


def limit_body_time(seconds: float, uploads: Mapping[str, int]) -> Middleware:
    """Return a middleware that limits the time in which the body arrives; reading it then raises BodyTimeout.

    The body of a webhook has `WEBHOOK_BODY_SECONDS` if that is less. `uploads` are paths with the largest file in
    bytes; a file has the time that its declared size, at most that, needs at `UPLOAD_BYTES_PER_SECOND` besides.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        if not request.content.is_eof():
            limit = min(seconds, WEBHOOK_BODY_SECONDS) if request.path.startswith(WEBHOOK_PATH) else seconds
            if (largest := uploads.get(request.path)) is not None:
                size = largest if request.content_length is None else request.content_length
                limit += min(size, largest) / UPLOAD_BYTES_PER_SECOND
            timer = asyncio.get_running_loop().call_later(limit, _expire, request.content, limit)
            request.content.on_eof(timer.cancel)
        return await handler(request)

    return middleware


def delay_failed_login(
    throttle: LoginThrottle, proxies: TrustedProxies
) -> Callable[[web.Request, str], Awaitable[None]]:
    """Return a function that delays the answer to a failed log-in; the connection may be replaced in the meantime."""

    async def delay(request: web.Request, token: str) -> None:
        address = proxies.client_address(request)
        connection = request.protocol
        with connection.replaceable() if isinstance(connection, HttpConnection) else nullcontext():
            await throttle.delay_failure(address, token)

    return delay


def _expire(content: StreamReader, seconds: float) -> None:
    if not content.is_eof() and content.exception() is None:
        content.set_exception(BodyTimeout(seconds))
