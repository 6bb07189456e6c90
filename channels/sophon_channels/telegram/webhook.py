"""Webhook for Telegram updates: authenticated by a secret, confirmed once the update is stored."""

import hmac
import json
import logging
import re
from collections.abc import Callable
from typing import cast

from aiohttp import web

from sophon._python.rate_limited_log import RateLimitedLog
from sophon.errors import StoreError
from sophon_channels.json_fields import JsonObject
from sophon_channels.telegram.polling import UpdateHandler
from sophon_channels.webhook_body import WebhookBodyReader, build_closing_response

log = logging.getLogger("sophon")

WEBHOOK_PATH = "/webhooks/telegram"
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the name of a header
"""Header in which Telegram sends the secret."""
MAX_BODY_BYTES = 1024 * 1024
"""Bytes."""

_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")


def is_valid_secret(value: str) -> bool:
    """Return whether Telegram accepts the value as a webhook secret (setWebhook, secret_token)."""
    return _SECRET.fullmatch(value) is not None


class TelegramWebhook:
    """aiohttp handler for updates. Answers 200 only for a stored update: Telegram repeats all others."""

    def __init__(
        self, secret: str, handle_updates: UpdateHandler, is_ready: Callable[[], bool], path: str = WEBHOOK_PATH
    ) -> None:
        self._refusals, self._path = RateLimitedLog(log), path
        self._bodies = WebhookBodyReader(MAX_BODY_BYTES, path, self._refusals)
        self._secret, self._handle_updates, self._is_ready = secret.encode(), handle_updates, is_ready

    async def handle(self, request: web.Request) -> web.Response:
        """Handle one request: 401 wrong secret, 413 too large, 400 no update, 503 not stored, 200 stored."""
        # Bytes: compare_digest raises TypeError for a str that is not ASCII.
        given = request.headers.get(SECRET_HEADER, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._secret):
            self._refusals.warning("secret", "rejected a request to %s with a wrong secret", self._path)
            return build_closing_response(401)
        body = await self._bodies.read(request)
        if isinstance(body, web.Response):
            return body
        update = _parse_body(body)
        if update is None:
            return web.Response(status=400)
        return await self._store(update)

    async def _store(self, update: JsonObject) -> web.Response:
        if not self._is_ready():
            return web.Response(status=503)
        try:
            await self._handle_updates([update])
        except StoreError as error:
            log.error("a Telegram update could not be stored; Telegram will send it again: %s", error)  # noqa: TRY400
            return web.Response(status=503)
        return web.Response()


def _parse_body(body: bytes) -> JsonObject | None:
    try:
        update: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", update) if isinstance(update, dict) else None
