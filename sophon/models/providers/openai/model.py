"""Model adapter for OpenAI's chat completions API and compatible servers, over the HTTP transport of this package.

It exists beside the litellm adapter because a call and a chunk take a fraction of the CPU time.
"""

from urllib.parse import urlsplit

from sophon.errors import ProviderUnavailable
from sophon.messages import Message
from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.models.providers.bounded_response import max_body_bytes
from sophon.models.providers.byte_timeout import ByteTimeout
from sophon.models.providers.http.endpoint import endpoint_from_url, extend_path
from sophon.models.providers.http.event_stream import EventStream
from sophon.models.providers.http.sse import SseDecoder
from sophon.models.providers.http.transport import HttpTransport
from sophon.models.providers.openai.dialect import OpenAIDialect
from sophon.models.providers.openai.reply_stream_reading import StreamEmitter, check_media_type, read_reply_stream
from sophon.models.providers.openai.request import RequestWriter, prepare_message, should_stream
from sophon.models.providers.openai.response_accumulator import ResponseAccumulator, parse_json_object
from sophon.models.providers.provider_http_error import http_error_from_response

OPENAI_URL = "https://api.openai.com/v1"


class OpenAIModel:
    """Model adapter for `POST {base_url}/chat/completions`.

    `timeout_seconds` limits the whole response or, while streaming, the time between two chunks of bytes, whatever they
    hold; connecting takes at most ten seconds. The size of a response is limited while it is read. `has_think_tags`:
    the model writes its reasoning between `<think>` tags in its text. The key is taken from the request; without one no
    authorization header is sent. `transport` is shared with other models; by default the model has its own. `name` is
    the model's for the provider, by default that of `info`; so is `dialect`.
    """

    def __init__(
        self,
        info: ModelInfo,
        *,
        base_url: str = OPENAI_URL,
        timeout_seconds: float = 120.0,
        has_think_tags: bool = False,
        transport: HttpTransport | None = None,
        name: str | None = None,
        dialect: OpenAIDialect | None = None,
    ) -> None:
        self.info = info
        self.has_think_tags = has_think_tags
        self._endpoint = endpoint_from_url(extend_path(base_url, "/chat/completions"))
        self._timeout_seconds = timeout_seconds
        self._writer = RequestWriter(
            info.name if name is None else name, has_cache_key=_is_openai(base_url), dialect=dialect
        )
        self._counts_reasoning_apart = dialect is not None and dialect.counts_reasoning_apart
        self._transport = transport or HttpTransport()

    async def warm_up(self) -> None:
        """Load the HTTP client and the certificates in a worker thread."""
        await self._transport.warm_up()

    def prepare_message(self, message: Message) -> None:
        """See `sophon.models.token_counter`."""
        prepare_message(message)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the response. Raises `ProviderHttpError`, ModelTimeout, ProviderUnavailable, BadRequest."""
        accumulator = ResponseAccumulator(
            request.output,
            has_think_tags=self.has_think_tags,
            counts_reasoning_apart=self._counts_reasoning_apart,
        )
        most = accumulator.output.size.max_bytes
        body = await self._writer.write_in_steps(request)
        headers = {"Authorization": f"Bearer {request.key}"} if request.key else {}
        async with (
            ByteTimeout(self._timeout_seconds) as byte_timeout,
            self._transport.post(self, self._endpoint, body, headers, max_reply_bytes=most) as response,
        ):
            if response.status >= 300:
                raise http_error_from_response(response.status, response.headers, await response.read())
            check_media_type(response, self._endpoint)
            # Some servers ignore `stream`.
            if should_stream(request) and response.media_type != "application/json":
                events = EventStream(response, SseDecoder(max_body_bytes(most)), byte_timeout)
                try:
                    await read_reply_stream(request, response, events, accumulator)
                except ProviderUnavailable:
                    if not response.is_broken or accumulator.finish_reason is None:
                        raise
                return accumulator.to_response(request.tools, is_streamed=True)
            text = accumulator.add_chunk(parse_json_object(await response.read()))
        emitter = StreamEmitter(request, accumulator)
        emitter.add(text)
        emitter.flush()
        return accumulator.to_response(request.tools, is_streamed=False)

    async def aclose(self) -> None:
        """Close the connections, unless another model uses them."""
        await self._transport.release(self)


def _is_openai(url: str) -> bool:
    """Return whether the server is OpenAI's own, in any region."""
    return f".{urlsplit(url).hostname or ''}".endswith(".api.openai.com")
