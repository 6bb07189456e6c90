"""Model adapter for every provider that the litellm library supports."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from sophon.errors import ModelError, ProviderUnavailable
from sophon.models.gateway.retry_after import read_retry_after
from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.models.providers.byte_timeout import ByteTimeout
from sophon.models.providers.litellm.loader import acquire_clients, load_litellm, release_clients
from sophon.models.providers.openai.dialect import OpenAIDialect
from sophon.models.providers.openai.reasoning import fields_to_return
from sophon.models.providers.openai.reply_stream_reading import StreamEmitter
from sophon.models.providers.openai.request import (
    add_reasoning_fields,
    build_request_options,
    message_to_json,
    native_tools,
    should_stream,
    tool_to_json,
)
from sophon.models.providers.openai.response_accumulator import STREAM_CUT_MESSAGE, ResponseAccumulator
from sophon.models.providers.openai_turn_alternation import merge_messages
from sophon.models.reply_size import MAX_REPLY_BYTES
from sophon.traces.trace_context import HEADER, find_traceparent

MAX_CAUSES = 10
"""Causes of an error that are searched for one of our own."""


class LiteLLMModel:
    """Model adapter over litellm, which selects the provider by the prefix of the name (`anthropic/claude-haiku-4-5`).

    `timeout_seconds` limits the whole response or, while streaming, the time between two chunks. The key is taken from
    the request; without one litellm reads the environment, as for AWS or Google Cloud. litellm's own retries are
    disabled, because the gateway retries.
    """

    def __init__(
        self, info: ModelInfo, *, litellm_name: str, base_url: str | None = None, timeout_seconds: float = 120.0
    ) -> None:
        self.info = info
        self._name = litellm_name
        self._base_url = base_url
        self._timeout_seconds = timeout_seconds

    async def warm_up(self) -> None:
        """Load litellm in a worker thread, which takes seconds."""
        await load_litellm()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the response. Raises litellm's exceptions, ModelTimeout, ProviderUnavailable, BadRequest."""
        litellm = await load_litellm()
        acquire_clients(self)
        async with ByteTimeout(self._timeout_seconds) as byte_timeout:
            with _reply_limit(request):
                try:
                    completion = await litellm.acompletion(**self._arguments(request))
                    if should_stream(request):
                        return await _read_stream(request, completion, byte_timeout)
                except Exception as error:
                    _raise_own_error(error)
                    _keep_retry_after(error)
                    raise
        accumulator = ResponseAccumulator(request.output)
        accumulator.add_chunk(_to_mapping(completion))
        return accumulator.to_response(request.tools, is_streamed=False)

    async def aclose(self) -> None:
        """Close litellm's connections if no other model uses them."""
        await release_clients(self)

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        messages = merge_messages(request.messages)
        reasoning = fields_to_return(messages, request.model.id)
        arguments: dict[str, Any] = {
            "model": self._name,
            "messages": [
                add_reasoning_fields(message_to_json(each, request.model), reasoning.get(index, {}))
                for index, each in enumerate(messages)
            ],
            # litellm adapts the output limit field and the temperature to the model.
            **build_request_options(request, OpenAIDialect()),
            "api_key": request.key,
            "api_base": self._base_url,
            # Longer than our own timeout, so that the error is the same for every provider.
            "timeout": self._timeout_seconds * 2,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            # Otherwise litellm loads its MCP gateway for requests with tools, which needs a missing package.
            "_skip_mcp_handler": True,
        }
        if (traceparent := find_traceparent()) is not None:
            arguments["extra_headers"] = {HEADER: traceparent}
        if tools := native_tools(request):
            arguments["tools"] = [tool_to_json(tool) for tool in tools]
        return arguments


@contextmanager
def _reply_limit(request: ModelRequest) -> Generator[None]:
    """Set the limit on the size of the responses that litellm reads within the block."""
    # lazy: it imports httpx, which litellm has loaded
    from sophon.models.providers.litellm.response_bounds import max_reply_bytes

    most = request.output.size.max_bytes if request.output is not None else MAX_REPLY_BYTES
    token = max_reply_bytes.set(most)
    try:
        yield
    finally:
        max_reply_bytes.reset(token)


def _raise_own_error(error: BaseException) -> None:
    """Raise the error of `bound_response` that litellm, or the client below it, has wrapped in an error of its own."""
    cause: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if isinstance(cause, ModelError):
            raise cause
        if cause is None:
            return
        cause = cause.__cause__ or cause.__context__


async def _read_stream(request: ModelRequest, stream: Any, byte_timeout: ByteTimeout) -> ModelResponse:
    accumulator = ResponseAccumulator(request.output)
    emitter = StreamEmitter(request, accumulator)
    try:
        async for chunk in stream:
            byte_timeout.reset()
            emitter.add(accumulator.add_chunk(_to_mapping(chunk)))
            emitter.flush()
    finally:
        await _close(stream)
    if _is_cut_off(stream):
        raise ProviderUnavailable(STREAM_CUT_MESSAGE)
    return accumulator.to_response(request.tools, is_streamed=True)


def _to_mapping(completion: Any) -> Mapping[str, Any]:
    # litellm's objects often violate their declared types; pydantic would warn each time.
    mapping: Mapping[str, Any] = completion.model_dump(warnings=False)
    return mapping


def _keep_retry_after(error: Any) -> None:
    """Copy Retry-After from the response headers, which litellm keeps in an attribute of its own, to
    `read_retry_after`.
    """
    headers: Mapping[str, str] = getattr(error, "litellm_response_headers", None) or {}
    value = read_retry_after(headers)
    if value is not None:
        error.retry_after = value


def _is_cut_off(stream: Any) -> bool:
    """Return whether no finish reason was received: litellm invents one for a stream that was cut off."""
    reasons = [getattr(stream, name, "") for name in ("received_finish_reason", "intermittent_finish_reason")]
    return all(reason is None for reason in reasons)


async def _close(stream: Any) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
