"""Model adapter for Anthropic's Messages API, over the HTTP transport that the adapters share."""

from dataclasses import replace
from urllib.parse import urlsplit

from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.models.providers.anthropic.request import WRITE_COST_FACTOR, RequestWriter
from sophon.models.providers.anthropic.response import ResponseAccumulator, error_from_response
from sophon.models.providers.bounded_response import max_body_bytes
from sophon.models.providers.byte_timeout import ByteTimeout
from sophon.models.providers.http.endpoint import endpoint_from_url, extend_path
from sophon.models.providers.http.event_stream import EventStream
from sophon.models.providers.http.sse import SseDecoder
from sophon.models.providers.http.transport import HttpTransport
from sophon.models.providers.openai.reply_stream_reading import StreamEmitter, check_media_type, read_reply_stream
from sophon.models.providers.openai.request import should_stream

ANTHROPIC_URL = "https://api.anthropic.com"
API_VERSION = "2023-06-01"
"""Version of the API, which every request names."""

_MODEL_PREFIX = "anthropic/"


class AnthropicModel:
    """Model adapter for `POST {base_url}/v1/messages`; `base_url` may end with `/v1` or the whole path.

    `timeout_seconds` limits the whole response or, while streaming, the time between two chunks of bytes, whatever they
    hold; connecting takes at most ten seconds. The size of a response is limited while it is read. The key is taken
    from the request. `transport` is shared with other models; by default the model has its own.
    """

    def __init__(
        self,
        info: ModelInfo,
        *,
        base_url: str = ANTHROPIC_URL,
        timeout_seconds: float = 120.0,
        transport: HttpTransport | None = None,
    ) -> None:
        self.info = replace(info, cache_write_factor=WRITE_COST_FACTOR)
        self._endpoint = endpoint_from_url(messages_url(base_url))
        self._timeout_seconds = timeout_seconds
        self._writer = RequestWriter(info.name.removeprefix(_MODEL_PREFIX))
        self._transport = transport or HttpTransport()

    async def warm_up(self) -> None:
        """Load the HTTP client and the certificates in a worker thread."""
        await self._transport.warm_up()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the response. Raises `ProviderHttpError`, ModelTimeout, ProviderUnavailable, BadRequest."""
        accumulator = ResponseAccumulator(request.output, model=request.model)
        most = accumulator.output.size.max_bytes
        body = self._writer.write(request)
        headers = {"anthropic-version": API_VERSION} | ({"x-api-key": request.key} if request.key else {})
        async with (
            ByteTimeout(self._timeout_seconds) as byte_timeout,
            self._transport.post(self, self._endpoint, body, headers, max_reply_bytes=most) as response,
        ):
            if response.status >= 300:
                raise error_from_response(response.status, response.headers, await response.read())
            check_media_type(response, self._endpoint)
            # Some servers with this API ignore `stream`.
            if should_stream(request) and response.media_type != "application/json":
                events = EventStream(response, SseDecoder(max_body_bytes(most)), byte_timeout)
                await read_reply_stream(request, response, events, accumulator)
                return accumulator.to_response(request.tools)
            text = accumulator.add_message(await response.read())
        emitter = StreamEmitter(request, accumulator)
        emitter.add(text)
        emitter.flush()
        return accumulator.to_response(request.tools)

    async def aclose(self) -> None:
        """Close the connections, unless another model uses them."""
        await self._transport.release(self)


def messages_url(base_url: str) -> str:
    """Return the URL of the messages under a base URL, whichever part of the path that has already."""
    path = urlsplit(base_url).path.rstrip("/")
    if path.endswith("/v1/messages"):
        return base_url
    return extend_path(base_url, "/messages" if path.endswith("/v1") else "/v1/messages")
