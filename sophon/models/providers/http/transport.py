"""HTTP transport: one pool of connections for the models of one Services."""

import importlib
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING

import anyio.to_thread

from sophon.models.providers.http.endpoint import Endpoint
from sophon.traces.trace_context import HEADER, find_traceparent

if TYPE_CHECKING:
    import ssl

    from sophon.models.providers.http.pool import ConnectionPool
    from sophon.models.providers.http.response import HttpResponse


class HttpTransport:
    """Pool of HTTP connections that models share; any number of adapters may use it at the same time.

    A model calls `post` for each request, and `release` when it is closed: the connections are closed with the last
    model that has used them, and opened again by the next request. Proxies and certificates are those of the
    environment: see `proxy_environment.py`. A pool belongs to its event loop; in another one a new
    pool is opened.
    """

    def __init__(self) -> None:
        self._users: set[object] = set()
        self._pool: ConnectionPool | None = None

    async def warm_up(self) -> None:
        """Import the HTTP client and load the certificates in a worker thread, and open the pool."""
        if self._pool is None or not self._pool.is_usable:
            await self._open()

    def post(
        self, user: object, endpoint: Endpoint, body: bytes, headers: Mapping[str, str], *, max_reply_bytes: int
    ) -> "HttpExchange":
        """Return a POST request of JSON, which is sent when it is entered with `async with`.

        `user` is the model that sends it; `headers` are added to the usual ones, and the trace context if the turn
        passes it on; `max_reply_bytes` limits the reply, from which the limit on the response's bytes follows.
        """
        self._users.add(user)
        traceparent = find_traceparent()
        if traceparent is not None:
            headers = {**headers, HEADER: traceparent}
        return HttpExchange(self, endpoint, body, headers, max_reply_bytes)

    def get(
        self, user: object, endpoint: Endpoint, headers: Mapping[str, str], *, max_reply_bytes: int
    ) -> "HttpExchange":
        """Return a GET request, as `post`."""
        self._users.add(user)
        return HttpExchange(self, endpoint, None, headers, max_reply_bytes)

    async def release(self, user: object) -> None:
        """Note that a model is closed; close the connections if no other one uses them."""
        self._users.discard(user)
        if not self._users:
            await self._close()

    async def pool(self) -> "ConnectionPool":
        """Return the pool of the running event loop."""
        pool = self._pool
        return pool if pool is not None and pool.is_usable else await self._open()

    async def _open(self) -> "ConnectionPool":
        tls = await anyio.to_thread.run_sync(_load)
        from sophon.models.providers.http.pool import ConnectionPool  # lazy: imports aiohttp, which is loaded now

        if self._pool is not None and self._pool.is_usable:  # a concurrent request has opened it
            return self._pool
        await self._close()
        self._pool = ConnectionPool(tls)
        return self._pool

    async def _close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()


class HttpExchange:
    """Async context manager of one request: sends it, returns the response, and closes that.

    A connection whose response was read to its end can be reused; any other one is closed, also by a cancellation.
    """

    __slots__ = ("_arguments", "_response", "_transport")

    def __init__(
        self,
        transport: HttpTransport,
        endpoint: Endpoint,
        body: bytes | None,
        headers: Mapping[str, str],
        max_reply_bytes: int,
    ) -> None:
        self._transport = transport
        self._arguments = endpoint, body, headers, max_reply_bytes
        self._response: HttpResponse | None = None

    async def __aenter__(self) -> "HttpResponse":
        pool = await self._transport.pool()
        self._response = await pool.send(*self._arguments)
        return self._response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._response is not None:
            self._response.close()


def _load() -> "ssl.SSLContext":
    """Do in a worker thread what takes long."""
    from sophon.models.providers.http.proxy_environment import tls_context  # lazy: imports urllib.request

    importlib.import_module("sophon.models.providers.http.pool")  # lazy: imports aiohttp

    return tls_context()
