"""What Meta sends: let in by its signature, answered once it is kept."""

import hmac
import json
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from sophon.errors import StoreError
from sophon_channels.whatsapp.signature import HEADER, is_signed

log = logging.getLogger("sophon")

PATH = "/webhooks/whatsapp"
LARGEST_BODY = 3 * 1024 * 1024
"""Bytes; Meta's largest batch."""

Take = Callable[[object], Awaitable[None]]


class Webhook:
    """The two handlers. 200 only for what is kept: Meta delivers everything else again, for 7 days."""

    def __init__(self, secret: str, verify_token: str, take: Take, is_ready: Callable[[], bool]) -> None:
        self._secret, self._verify_token = secret, verify_token.encode()
        self._take, self._is_ready = take, is_ready

    async def verify(self, request: web.Request) -> web.Response:
        """Meta asks once, when the address is entered: with our own word it gets back what it sent."""
        given = request.query.get("hub.verify_token", "").encode("utf-8", "surrogatepass")
        matches = hmac.compare_digest(given, self._verify_token)
        if request.query.get("hub.mode") != "subscribe" or not matches:
            log.warning("a request to verify %s came without the right token", PATH)
            return web.Response(status=403)
        return web.Response(text=request.query.get("hub.challenge", ""))

    async def handle(self, request: web.Request) -> web.Response:
        """413 too large, 401 not signed, 400 no JSON, 503 not kept, 200 kept."""
        body = await _body(request)
        if body is None:
            log.warning("a request to %s with more than %d bytes was refused", PATH, LARGEST_BODY)
            return _last_answer(413)
        if not is_signed(body, request.headers.get(HEADER, ""), self._secret):
            log.warning("a request to %s without the right signature was refused", PATH)
            return _last_answer(401)
        try:
            payload: object = json.loads(body)
        except (ValueError, RecursionError):
            return web.Response(status=400)
        return await self._kept(payload)

    async def _kept(self, payload: object) -> web.Response:
        if not self._is_ready():
            return web.Response(status=503)
        try:
            await self._take(payload)
        except StoreError as error:
            log.error("what WhatsApp delivered could not be kept; it will send it again: %s", error)  # noqa: TRY400
            return web.Response(status=503)
        return web.Response()


def _last_answer(status: int) -> web.Response:
    """The connection ends with it, so that the rest of a large body is not read."""
    response = web.Response(status=status)
    response.force_close()
    return response


async def _body(request: web.Request) -> bytes | None:
    if (request.content_length or 0) > LARGEST_BODY:
        return None
    body = bytearray()
    async for piece in request.content.iter_any():
        body += piece
        if len(body) > LARGEST_BODY:
            return None
    return bytes(body)
