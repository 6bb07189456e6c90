"""Model adapter for Ollama's native chat API, over the HTTP transport that the adapters share.

The server has an API like OpenAI's too, which cannot set the context window of a model.
"""

from urllib.parse import urlsplit, urlunsplit

from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.models.providers.bounded_response import max_body_bytes
from sophon.models.providers.byte_timeout import ByteTimeout
from sophon.models.providers.http.endpoint import endpoint_from_url, extend_path
from sophon.models.providers.http.event_stream import EventStream
from sophon.models.providers.http.json_lines import JsonLinesDecoder
from sophon.models.providers.http.transport import HttpTransport
from sophon.models.providers.ollama.errors import error_from_response
from sophon.models.providers.ollama.request import OllamaOptions, RequestWriter
from sophon.models.providers.ollama.response import ResponseAccumulator
from sophon.models.providers.openai.reply_stream_reading import check_media_type, read_reply_stream
from sophon.models.providers.openai.request import should_stream

_KNOWN_PATHS = ("/v1", "/api", "/api/chat")


class OllamaModel:
    """Model adapter for `POST {base_url}/api/chat`; a `/v1` or `/api` at the end of `base_url` is ignored.

    `timeout_seconds` limits the whole response or, while streaming, the time between two chunks of bytes; loading a
    model counts. The size of a response is limited while it is read. `has_think_tags`: the model writes its reasoning
    between `<think>` tags in its text, which the server separates for the models that it knows. The key is taken from
    the request; without one no authorization header is sent. `transport` is shared with other models; by default the
    model has its own.
    """

    def __init__(
        self,
        info: ModelInfo,
        *,
        base_url: str,
        options: OllamaOptions = OllamaOptions(),  # noqa: B008 - frozen
        timeout_seconds: float = 120.0,
        has_think_tags: bool = True,
        transport: HttpTransport | None = None,
    ) -> None:
        self.info = info
        self.options = options
        self.has_think_tags = has_think_tags
        self._endpoint = endpoint_from_url(chat_url(base_url))
        self._timeout_seconds = timeout_seconds
        self._writer = RequestWriter(info.name, options)
        self._transport = transport or HttpTransport()

    async def warm_up(self) -> None:
        """Load the HTTP client and the certificates in a worker thread."""
        await self._transport.warm_up()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the response. Raises `ProviderHttpError`, ModelTimeout, ProviderUnavailable."""
        accumulator = ResponseAccumulator(request.output, has_think_tags=self.has_think_tags)
        most = accumulator.output.size.max_bytes
        body = self._writer.write(request)
        headers = {"Authorization": f"Bearer {request.key}"} if request.key else {}
        async with (
            ByteTimeout(self._timeout_seconds) as byte_timeout,
            self._transport.post(self, self._endpoint, body, headers, max_reply_bytes=most) as response,
        ):
            if response.status >= 300:
                data, shown_url = await response.read(), self._endpoint.shown_url
                raise error_from_response(
                    response.status, response.headers, data, model=self.info.name, shown_url=shown_url
                )
            check_media_type(response, self._endpoint)
            if should_stream(request):
                events = EventStream(response, JsonLinesDecoder(max_body_bytes(most)), byte_timeout)
                await read_reply_stream(request, response, events, accumulator)
                return accumulator.to_response(request.tools, is_streamed=True)
            accumulator.add_event(await response.read())
        return accumulator.to_response(request.tools, is_streamed=False)

    async def aclose(self) -> None:
        """Close the connections, unless another model uses them."""
        await self._transport.release(self)


def chat_url(base_url: str) -> str:
    """Return the URL of the chat API under a base URL, which may be that of the server's other APIs."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    for known in _KNOWN_PATHS:
        if path.endswith(known):
            path = path.removesuffix(known)
            break
    return extend_path(urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")), "/api/chat")
