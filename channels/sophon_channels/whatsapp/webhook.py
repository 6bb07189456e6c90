"""Webhook for WhatsApp events: authenticated by a signature, confirmed once the events are stored."""

import hashlib
import hmac
import json
import logging
import re
from collections.abc import Awaitable, Callable

from aiohttp import web

from sophon._python.rate_limited_log import RateLimitedLog
from sophon.errors import StoreError
from sophon_channels.webhook_body import WebhookBodyReader, build_closing_response

log = logging.getLogger("sophon")

WEBHOOK_PATH = "/webhooks/whatsapp"

MAX_BODY_BYTES = 3 * 1024 * 1024
"""Bytes; Meta's largest batch."""

PayloadHandler = Callable[[object], Awaitable[None]]
"""Stores the events of a webhook body; raises StoreError if that fails."""

SIGNATURE_HEADER = "X-Hub-Signature-256"

SIGNATURE_PREFIX = "sha256="

_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")


class WhatsAppWebhook:
    """aiohttp handlers. Answer 200 only for stored events: Meta delivers all others again, for 7 days."""

    def __init__(
        self,
        secret: str,
        verify_token: str,
        handle_payload: PayloadHandler,
        is_ready: Callable[[], bool],
        path: str = WEBHOOK_PATH,
    ) -> None:
        self._refusals, self._path = RateLimitedLog(log), path
        self._bodies = WebhookBodyReader(MAX_BODY_BYTES, path, self._refusals)
        self._secret, self._verify_token = secret, verify_token.encode()
        self._handle_payload, self._is_ready = handle_payload, is_ready

    async def handle_verification(self, request: web.Request) -> web.Response:
        """Handle the verification request that Meta sends when the URL is configured: 403 for a wrong verify token."""
        given = request.query.get("hub.verify_token", "").encode("utf-8", "surrogatepass")
        matches = hmac.compare_digest(given, self._verify_token)
        if request.query.get("hub.mode") != "subscribe" or not matches:
            self._refusals.warning("token", "rejected a verification request to %s with a wrong token", self._path)
            return web.Response(status=403)
        return web.Response(text=request.query.get("hub.challenge", ""))

    async def handle(self, request: web.Request) -> web.Response:
        """Handle one delivery: 413 too large, 401 wrong signature, 400 not JSON, 503 not stored, 200 stored.

        Without something that looks like a signature the body is not read.
        """
        signature = request.headers.get(SIGNATURE_HEADER, "")
        if not is_well_formed_signature(signature):
            return self._refuse_signature()
        body = await self._bodies.read(request)
        if isinstance(body, web.Response):
            return body
        if not is_valid_signature(body, signature, self._secret):
            return self._refuse_signature()
        try:
            payload: object = json.loads(body)
        except (ValueError, RecursionError):
            return web.Response(status=400)
        return await self._store(payload)

    def _refuse_signature(self) -> web.Response:
        self._refusals.warning("signature", "rejected a request to %s with a wrong signature", self._path)
        return build_closing_response(401)

    async def _store(self, payload: object) -> web.Response:
        if not self._is_ready():
            return web.Response(status=503)
        try:
            await self._handle_payload(payload)
        except StoreError as error:
            log.error("WhatsApp events could not be stored; WhatsApp will send them again: %s", error)  # noqa: TRY400
            return web.Response(status=503)
        return web.Response()


def is_well_formed_signature(header: str) -> bool:
    """Return whether the header could be the signature of some body."""
    return _SIGNATURE.fullmatch(header) is not None


def is_valid_signature(body: bytes, header: str, secret: str) -> bool:
    """Return whether the header is the signature of exactly this body. Never raises; compares in constant time."""
    expected = SIGNATURE_PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(header.encode("utf-8", "surrogatepass"), expected.encode())


def sign_body(body: bytes, secret: str) -> str:
    """Return the signature header for a body."""
    return SIGNATURE_PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
