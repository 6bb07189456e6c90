"""Updates that Telegram sends: let in by their secret, answered once they are kept."""

import hmac
import json
import logging
import re
from collections.abc import Callable
from typing import cast

from aiohttp import web

from sophon.errors import StoreError
from sophon_channels.fields import Fields
from sophon_channels.telegram.polling import Take

log = logging.getLogger("sophon")

PATH = "/webhooks/telegram"
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the name of a header
LARGEST_BODY = 1024 * 1024
"""Bytes."""

_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")


def is_secret(value: str) -> bool:
    """Whether Telegram takes it as a webhook's secret (setWebhook, secret_token)."""
    return _SECRET.fullmatch(value) is not None


class Webhook:
    """One aiohttp handler. 200 only for what is kept: Telegram repeats everything else."""

    def __init__(self, secret: str, take: Take, is_ready: Callable[[], bool]) -> None:
        self._secret, self._take, self._is_ready = secret.encode(), take, is_ready

    async def handle(self, request: web.Request) -> web.Response:
        """401 without the secret, 413 too large, 400 no update, 503 not kept, 200 kept."""
        # Bytes: compare_digest raises TypeError for other than ASCII in a str.
        shown = request.headers.get(SECRET_HEADER, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(shown, self._secret):
            log.warning("a request to %s without the right secret was refused", PATH)
            return _last_answer(401)
        body = await _body(request)
        if body is None:
            log.warning("a request to %s with more than %d bytes was refused", PATH, LARGEST_BODY)
            return _last_answer(413)
        update = _update(body)
        if update is None:
            return web.Response(status=400)
        return await self._kept(update)

    async def _kept(self, update: Fields) -> web.Response:
        if not self._is_ready():
            return web.Response(status=503)
        try:
            await self._take([update])
        except StoreError as error:
            log.error("an update of Telegram could not be kept; it will send it again: %s", error)  # noqa: TRY400
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


def _update(body: bytes) -> Fields | None:
    try:
        update: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("Fields", update) if isinstance(update, dict) else None
