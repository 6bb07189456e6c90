"""Transport to an MCP server over streamable HTTP, with a limit on the length of a message.

The transport of the SDK bounds the events of a stream, but reads an answer in JSON whole. Here an answer over the limit
ends its request. Redirects are followed within the origin of the URL only (by the SDK); proxies of the environment are
not used.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

from sophon_hosting.features.mcp.client.stdio_transport import MAX_MESSAGE_BYTES

CONNECT_SECONDS: Final = 30.0
IDLE_SECONDS: Final = 300.0
"""Time without any byte of a response; a stream of events that is idle longer is opened again by the SDK."""


class ResponseTooLarge(httpx2.StreamError):
    """The server's answer is over the limit, or compressed, so that its size cannot be known."""


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream, self._left = stream, limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise ResponseTooLarge("the answer of the MCP server is over the size limit")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Passes requests on, and bounds every response that is no stream of events."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, limit: int) -> None:
        self._inner, self._limit = inner, limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response. Raises ResponseTooLarge for a compressed one, which was not asked for."""
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise ResponseTooLarge("the answer of the MCP server is compressed, though that was not asked for")
        is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        if not is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream, self._limit)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


@asynccontextmanager
async def open_http(url: str, headers: Mapping[str, str], *, seconds: float) -> AsyncGenerator[Any]:
    """Yield the streams of a connection, for `mcp.Client`; `seconds` is the time of the longest call."""
    client = httpx2.AsyncClient(
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=max(IDLE_SECONDS, seconds + CONNECT_SECONDS)),
        transport=BoundedTransport(httpx2.AsyncHTTPTransport(), MAX_MESSAGE_BYTES),
        trust_env=False,
    )
    async with (
        client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams
