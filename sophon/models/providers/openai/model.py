"""Model adapter for OpenAI's chat completions API and compatible servers, over httpx.

It exists beside the litellm adapter because a call and a chunk take a fraction of the CPU time.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import anyio.to_thread
import orjson

from sophon._version import __version__
from sophon.errors import ModelTimeout, ProviderUnavailable
from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.models.providers.bounded_response import bound_response, max_body_bytes
from sophon.models.providers.content_decoding import ACCEPT_ENCODING
from sophon.models.providers.idle_timeout import IdleTimeout
from sophon.models.providers.openai.alternation import merge_messages
from sophon.models.providers.openai.request import (
    ToolJsonCache,
    build_request_options,
    dialect_for_model,
    messages_to_json_bytes,
    native_tools,
    should_stream,
    to_json_bytes,
)
from sophon.models.providers.openai.response import ResponseAccumulator, emit_pieces, parse_json_object
from sophon.models.providers.provider_http_error import http_error_from_response
from sophon.models.providers.sse import SseDecoder
from sophon.security import hide_url_secrets

if TYPE_CHECKING:
    import httpx

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_TIMEOUT_SECONDS = 10.0
"""Longest time for connecting; a shorter `timeout_seconds` applies instead."""
MAX_CONNECTIONS = 100
MAX_IDLE_CONNECTIONS = 20
DRAIN_TIMEOUT_SECONDS = 0.5
"""Time limit for reading the rest of a stream after its last event."""

_DONE = b"[DONE]"


class OpenAIModel:
    """Model adapter for `POST {base_url}/chat/completions`.

    `timeout_seconds` limits the whole response or, while streaming, the time between two chunks of bytes, whatever they
    hold; connecting takes at most ten seconds. The size of a response is limited while it is read. `has_think_tags`:
    the model writes its reasoning between `<think>` tags in its text. The key is taken from the request; without one no
    authorization header is sent. Proxies are taken from the environment.
    """

    def __init__(
        self,
        info: ModelInfo,
        *,
        base_url: str = OPENAI_URL,
        timeout_seconds: float = 120.0,
        has_think_tags: bool = False,
    ) -> None:
        self.info = info
        self.has_think_tags = has_think_tags
        self._url = chat_completions_url(base_url)
        self._shown_url = hide_url_secrets(self._url)
        self._timeout_seconds = timeout_seconds
        self._dialect = dialect_for_model(info.name)
        self._tool_json = ToolJsonCache()
        self._client: httpx.AsyncClient | None = None

    async def warm_up(self) -> None:
        """Create the HTTP client and load the certificates in a worker thread."""
        if self._client is None:
            client = await anyio.to_thread.run_sync(_create_client, self._timeout_seconds)
            if self._client is None:
                self._client = client
            else:  # a concurrent call has set it
                await client.aclose()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the response. Raises `ProviderHttpError`, ModelTimeout, ProviderUnavailable, BadRequest."""
        if self._client is None:
            await self.warm_up()
        import httpx  # lazy; `warm_up` has loaded it in a worker thread

        try:
            async with IdleTimeout(self._timeout_seconds) as idle_timeout:
                return await self._send(request, idle_timeout)
        except httpx.TimeoutException as error:
            raise ModelTimeout(f"connecting to {self._shown_url} timed out") from error
        except httpx.TransportError as error:
            raise ProviderUnavailable(
                f"the connection to {self._shown_url} failed: {error or type(error).__name__}"
            ) from error

    async def aclose(self) -> None:
        """Close the HTTP client."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _send(self, request: ModelRequest, idle_timeout: IdleTimeout) -> ModelResponse:
        assert self._client is not None
        headers = {"authorization": f"Bearer {request.key}"} if request.key else {}
        async with self._client.stream("POST", self._url, content=self._body(request), headers=headers) as response:
            accumulator = self._accumulator(request)
            bound_response(response, accumulator.output.size.max_bytes)
            if response.status_code >= 300:
                raise http_error_from_response(response.status_code, response.headers, await response.aread())
            if _is_web_page(response.headers):
                raise ProviderUnavailable(f"{self._shown_url} answered with a web page; check BaseUrl")
            if should_stream(request) and not _is_json(response.headers):
                return await self._read_stream(request, response, accumulator, idle_timeout)
            text = accumulator.add_chunk(parse_json_object(await response.aread()))
        emit_pieces(text, accumulator, request)
        return accumulator.to_response(request.tools, is_streamed=False)

    async def _read_stream(
        self,
        request: ModelRequest,
        response: "httpx.Response",
        accumulator: ResponseAccumulator,
        idle_timeout: IdleTimeout,
    ) -> ModelResponse:
        decoder = SseDecoder(max_body_bytes(accumulator.output.size.max_bytes))
        accumulator.output.has_begun = True
        async with aclosing(_iterate_chunks(response, accumulator)) as chunks:
            async for chunk in chunks:
                idle_timeout.reset()
                for event in decoder.feed(chunk):
                    if event == _DONE:
                        await _drain(chunks)
                        return accumulator.to_response(request.tools, is_streamed=True)
                    emit_pieces(accumulator.add_chunk(parse_json_object(event)), accumulator, request)
            for event in decoder.flush():
                if event != _DONE:
                    emit_pieces(accumulator.add_chunk(parse_json_object(event)), accumulator, request)
        return accumulator.to_response(request.tools, is_streamed=True)

    def _accumulator(self, request: ModelRequest) -> ResponseAccumulator:
        return ResponseAccumulator(request.output, has_think_tags=self.has_think_tags)

    def _body(self, request: ModelRequest) -> bytes:
        messages = merge_messages(request.messages)
        body: dict[str, Any] = {
            "model": self.info.name,
            "messages": [orjson.Fragment(data) for data in messages_to_json_bytes(messages, request.model.id)],
            **build_request_options(request, self._dialect),
        }
        if tools := native_tools(request):
            body["tools"] = [orjson.Fragment(self._tool_json.get_json(tool)) for tool in tools]
        return to_json_bytes(body)


def chat_completions_url(base_url: str) -> str:
    """Return the URL of the requests: the path is extended, and the query of the base, such as a version, stays."""
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc, f"{parts.path.rstrip('/')}/chat/completions", parts.query, ""))


def _create_client(timeout_seconds: float) -> "httpx.AsyncClient":
    import httpx  # lazy: takes 0.1 s, needed only by a host with a real provider

    return httpx.AsyncClient(
        verify=_tls_context(),
        timeout=httpx.Timeout(None, connect=min(CONNECT_TIMEOUT_SECONDS, timeout_seconds)),
        limits=httpx.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_IDLE_CONNECTIONS),
        headers={
            "content-type": "application/json",
            "user-agent": f"sophon/{__version__}",
            "accept-encoding": ACCEPT_ENCODING,
        },
    )


@cache
def _tls_context() -> ssl.SSLContext:
    """Create the TLS context once per process; it takes tens of milliseconds."""
    import httpx  # lazy, as above

    return httpx.create_ssl_context()


async def _iterate_chunks(response: "httpx.Response", accumulator: ResponseAccumulator) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of the body; ignore a connection error after the finish reason has arrived."""
    import httpx  # lazy, as above

    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    except httpx.TransportError:
        if accumulator.finish_reason is None:
            raise


async def _drain(chunks: AsyncGenerator[bytes, None]) -> None:
    """Read the rest of the stream, because only a fully read connection can be reused."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_TIMEOUT_SECONDS):
            async for _ in chunks:
                pass


def _is_json(headers: Mapping[str, str]) -> bool:
    """Detect a non-streamed response: some servers ignore `stream`."""
    return headers.get("content-type", "").startswith("application/json")


def _is_web_page(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").startswith("text/html")
