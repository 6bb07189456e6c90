"""Pool of connections to providers, over aiohttp, for one event loop.

The module imports aiohttp, which takes 0.1 s and is needed only by a host with a real provider: `transport.py` imports
it in a worker thread.
"""

import asyncio
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from sophon._version import __version__
from sophon.errors import ProviderUnavailable
from sophon.models.providers.content_decoding import ACCEPT_ENCODING
from sophon.models.providers.http.endpoint import Endpoint
from sophon.models.providers.http.proxy_environment import Proxy, find_proxy
from sophon.models.providers.http.response import HttpResponse, to_model_error

CONNECT_TIMEOUT_SECONDS = 10.0
"""Longest time for connecting to one address."""
MAX_CONNECTIONS_PER_HOST = 100
"""Connections to one host, and so requests to it at a time; further ones wait."""
KEEPALIVE_SECONDS = 30.0
"""Time that an unused connection stays open. Reverse proxies close theirs after about a minute."""
WRITE_BYTES = 256 * 1024
"""Bytes of a request's body that are written at once: the socket takes them in less than 0.2 ms."""


class ConnectionPool:
    """Connections of one event loop: no cookies, no redirects, no retries, no decompression, no total timeout.

    The proxies are those of the environment at the first request to each URL.
    """

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._loop = asyncio.get_running_loop()
        self._proxy_by_url: dict[str, Proxy | None] = {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=tls,
                limit=0,
                limit_per_host=MAX_CONNECTIONS_PER_HOST,
                keepalive_timeout=KEEPALIVE_SECONDS,
                resolver=aiohttp.ThreadedResolver(),
            ),
            headers={
                "Content-Type": "application/json",
                "User-Agent": f"sophon/{__version__}",
                "Accept-Encoding": ACCEPT_ENCODING,
            },
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_SECONDS),
        )

    @property
    def is_usable(self) -> bool:
        """Whether the running event loop is that of the pool."""
        return self._loop is asyncio.get_running_loop()

    async def send(
        self, endpoint: Endpoint, body: bytes | None, headers: Mapping[str, str], max_reply_bytes: int
    ) -> HttpResponse:
        """Send a POST request, or a GET request without a body; return the response when its head has arrived.

        The caller closes it. Raises ModelTimeout if connecting takes too long, ProviderUnavailable for what else fails
        below HTTP.
        """
        url, options = parse_url(endpoint), self._request_options(endpoint, headers)
        data = body if body is None or len(body) <= WRITE_BYTES else _Body(body)
        method = "GET" if body is None else "POST"
        try:
            response = await self._session.request(method, url, data=data, allow_redirects=False, **options)
        except (aiohttp.ClientError, OSError) as error:
            raise to_model_error(error, endpoint) from error
        try:
            return HttpResponse(response, endpoint, max_reply_bytes)
        except BaseException:
            response.close()
            raise

    async def close(self) -> None:
        """Close the connections."""
        if self.is_usable:
            await self._session.close()
        elif (connector := self._session.connector) is not None:
            # The event loop has ended, and its connections with it.
            self._session.detach()
            await connector.close()

    def _request_options(self, endpoint: Endpoint, headers: Mapping[str, str]) -> dict[str, Any]:
        sent = dict(headers)
        if endpoint.authorization is not None:
            sent["Authorization"] = endpoint.authorization
        if endpoint.url not in self._proxy_by_url:
            self._proxy_by_url[endpoint.url] = find_proxy(endpoint.url)
        proxy = self._proxy_by_url[endpoint.url]
        if proxy is None:
            return {"headers": sent}
        if endpoint.url.startswith("https:"):
            return {"headers": sent, "proxy": proxy.url, "proxy_headers": dict(proxy.headers)}
        return {"headers": sent | proxy.headers, "proxy": proxy.url}


class _Body(aiohttp.Payload):
    """Body of a request, which is written in pieces between which the event loop runs."""

    _value: bytes

    def __init__(self, value: bytes) -> None:
        super().__init__(value, content_type="application/json")
        self._size = len(value)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self._value.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        view = memoryview(self._value)
        for start in range(0, len(view), WRITE_BYTES):
            await writer.write(view[start : start + WRITE_BYTES])
            await asyncio.sleep(0)


@lru_cache(maxsize=256)
def parse_url(endpoint: Endpoint) -> URL:
    """Return the URL as aiohttp takes it, with the quoting that it has. Raises ProviderUnavailable if it is no URL."""
    text = endpoint.url
    try:
        url = URL(text, encoded=text.isascii() and text.isprintable() and " " not in text)
        if url.scheme in ("http", "https") and url.host:
            return url
    except ValueError:
        pass
    raise ProviderUnavailable(f"{endpoint.shown_url} is not an HTTP URL; check BaseUrl")
