"""OpenAI's own API and every server that speaks it: the fast way to a model.

It exists beside litellm because of its price: a call and a chunk cost a fraction of the CPU.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import orjson

from sophon._version import __version__
from sophon.errors import ModelTimeout, ProviderUnavailable
from sophon.models.assembly import Assembly, read_json
from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.models.patience import Patience
from sophon.models.refusal import refusal_of
from sophon.models.sse import EventStream
from sophon.models.wire import ToolTexts, dialect_of, dumped, message_bytes, offered, options, streams

if TYPE_CHECKING:
    import httpx

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 10.0
CONNECTIONS = 100
IDLE_CONNECTIONS = 20
LONGEST_ERROR = 64 * 1024
"""Bytes of a refusal that are read."""

DRAIN_SECONDS = 0.5
"""How long the end of a stream may take after its last event."""

_DONE = b"[DONE]"


class OpenAIModel:
    """A model behind `POST {base_url}/chat/completions`.

    `timeout_seconds` is for the whole answer, or, while it streams, for each silence; a connection has at most ten.
    The key comes with the request; without one nothing is sent. Proxies are taken from the environment.
    """

    def __init__(self, info: ModelInfo, *, base_url: str = OPENAI_URL, timeout_seconds: float = 120.0) -> None:
        self.info = info
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._timeout_seconds = timeout_seconds
        self._dialect = dialect_of(info.name)
        self._tools = ToolTexts()
        self._client: httpx.AsyncClient | None = None

    async def warm_up(self) -> None:
        """Load the HTTP client and the certificates in a worker thread."""
        if self._client is None:
            made = await anyio.to_thread.run_sync(_client, self._timeout_seconds)
            if self._client is None:
                self._client = made
            else:  # another call was quicker
                await made.aclose()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer. Raises Refusal, ModelTimeout, ProviderUnavailable."""
        if self._client is None:
            await self.warm_up()
        import httpx  # by now it is loaded, in a worker thread

        try:
            async with Patience(self._timeout_seconds) as patience:
                return await self._answer(request, patience)
        except httpx.TimeoutException as error:
            raise ModelTimeout(f"{self._url} cannot be reached in time") from error
        except httpx.TransportError as error:
            raise ProviderUnavailable(
                f"the connection to {self._url} failed: {error or type(error).__name__}"
            ) from error

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _answer(self, request: ModelRequest, patience: Patience) -> ModelResponse:
        assert self._client is not None
        headers = {"authorization": f"Bearer {request.key}"} if request.key else {}
        async with self._client.stream("POST", self._url, content=self._body(request), headers=headers) as response:
            if response.status_code >= 300:
                raise refusal_of(response.status_code, response.headers, await _excerpt(response))
            if streams(request) and not _is_json(response.headers):
                return await self._listen(request, response, patience)
            assembly = Assembly()
            text = assembly.add(read_json(await response.aread()))
        _hear(text, request)
        return assembly.response(request.tools, streamed=False)

    async def _listen(self, request: ModelRequest, response: "httpx.Response", patience: Patience) -> ModelResponse:
        assembly, stream = Assembly(), EventStream()
        async with aclosing(_pieces(response, assembly)) as pieces:
            async for piece in pieces:
                patience.heard()
                for event in stream.feed(piece):
                    if event == _DONE:
                        await _drain(pieces)
                        return assembly.response(request.tools, streamed=True)
                    _hear(assembly.add(read_json(event)), request)
            for event in stream.end():
                if event != _DONE:
                    _hear(assembly.add(read_json(event)), request)
        return assembly.response(request.tools, streamed=True)

    def _body(self, request: ModelRequest) -> bytes:
        body: dict[str, Any] = {
            "model": self.info.name,
            "messages": [orjson.Fragment(message_bytes(message)) for message in request.messages],
            **options(request, self._dialect),
        }
        if tools := offered(request):
            body["tools"] = [orjson.Fragment(self._tools.of(tool)) for tool in tools]
        return dumped(body)


def _client(timeout_seconds: float) -> "httpx.AsyncClient":
    import httpx  # 0.1 s that only a host with a real provider pays

    return httpx.AsyncClient(
        verify=_certificates(),
        timeout=httpx.Timeout(None, connect=min(CONNECT_SECONDS, timeout_seconds)),
        limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=IDLE_CONNECTIONS),
        headers={"content-type": "application/json", "user-agent": f"sophon/{__version__}"},
    )


@cache
def _certificates() -> ssl.SSLContext:
    """Made once per process: it takes tens of milliseconds."""
    import httpx  # as above

    return httpx.create_ssl_context()


async def _pieces(response: "httpx.Response", assembly: Assembly) -> AsyncGenerator[bytes, None]:
    """The body as it comes. A connection that breaks when the model had finished has cost nothing."""
    import httpx  # as above

    try:
        async for piece in response.aiter_bytes():
            yield piece
    except httpx.TransportError:
        if assembly.finish is None:
            raise


async def _drain(pieces: AsyncGenerator[bytes, None]) -> None:
    """Read on to the end, which is due: a connection that was read to its end can be used again."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in pieces:
                pass


def _hear(text: str, request: ModelRequest) -> None:
    if text and streams(request) and request.on_text is not None:
        request.on_text(text)


async def _excerpt(response: "httpx.Response") -> bytes:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > LONGEST_ERROR:
            break
    return body


def _is_json(headers: Mapping[str, str]) -> bool:
    """Some servers answer in one piece although a stream was asked for."""
    return headers.get("content-type", "").startswith("application/json")
