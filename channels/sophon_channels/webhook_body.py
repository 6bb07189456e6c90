"""Bodies of webhook requests: read with a limit, before anybody is authenticated."""

from aiohttp import web

from sophon._python.rate_limited_log import RateLimitedLog

MAX_UNVERIFIED_BYTES = 48 * 1024 * 1024
"""Bytes of bodies that one reader holds at a time; requests beyond it are refused, and are sent again later."""

WEBHOOKS = "/webhooks/"
"""Beginning of the path of each webhook; the name of its channel follows."""


class WebhookBodyReader:
    """Reader of the bodies of one webhook, each at most `max_bytes` long.

    The bodies that are being read hold `max_total_bytes` together at most, however many connections send them. A
    refusal is logged with `path`, the path of the webhook.
    """

    def __init__(
        self, max_bytes: int, path: str, refusals: RateLimitedLog, max_total_bytes: int = MAX_UNVERIFIED_BYTES
    ) -> None:
        self.max_bytes, self._max_total_bytes = max_bytes, max_total_bytes
        self._path, self._refusals = path, refusals
        self.held_bytes = 0
        """Bytes of the bodies that are being read."""

    async def read(self, request: web.Request) -> bytes | web.Response:
        """Return the body, or the response that refuses it: 413 too large, 503 too much is being read already."""
        if (request.content_length or 0) > self.max_bytes:
            return self._refuse_size()
        body = bytearray()
        try:
            async for chunk in request.content.iter_any():
                body += chunk
                self.held_bytes += len(chunk)
                if len(body) > self.max_bytes:
                    return self._refuse_size()
                if self.held_bytes > self._max_total_bytes:
                    self._refusals.warning("total", "rejected a request to %s: too many are being read", self._path)
                    return build_closing_response(503)
        finally:
            self.held_bytes -= len(body)
        return bytes(body)

    def _refuse_size(self) -> web.Response:
        self._refusals.warning("size", "rejected a request to %s with more than %d bytes", self._path, self.max_bytes)
        return build_closing_response(413)


def build_closing_response(status: int) -> web.Response:
    """Return a response that closes the connection, so that the rest of a large body is not read."""
    response = web.Response(status=status)
    response.force_close()
    return response
