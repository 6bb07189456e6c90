"""Every provider that litellm knows, over litellm."""

from collections.abc import Mapping
from typing import Any

from sophon.errors import ProviderUnavailable
from sophon.models import litellm_library
from sophon.models.assembly import BROKEN_OFF, Assembly
from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.models.patience import Patience
from sophon.models.refusal import retry_after
from sophon.models.wire import Dialect, message_json, offered, options, streams, tool_json


class LiteLLMModel:
    """A model under its name in litellm (`anthropic/claude-haiku-4-5`), which finds the provider by the prefix.

    `timeout_seconds` is for the whole answer, or, while it streams, for each silence. The key comes with the request;
    without one litellm looks into the environment, as for AWS or Google Cloud. Retries are the gateway's.
    """

    def __init__(
        self, info: ModelInfo, *, litellm_name: str, base_url: str | None = None, timeout_seconds: float = 120.0
    ) -> None:
        self.info = info
        self._name = litellm_name
        self._base_url = base_url
        self._timeout_seconds = timeout_seconds

    async def warm_up(self) -> None:
        """Load litellm in a worker thread (seconds)."""
        await litellm_library.library()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer. Raises what litellm raises, ModelTimeout, ProviderUnavailable."""
        litellm = await litellm_library.library()
        litellm_library.enter(self)
        async with Patience(self._timeout_seconds) as patience:
            try:
                answer = await litellm.acompletion(**self._arguments(request))
            except Exception as error:
                _keep_retry_after(error)
                raise
            if streams(request):
                return await _listen(request, answer, patience)
        assembly = Assembly()
        assembly.add(_plain(answer))
        return assembly.response(request.tools, streamed=False)

    async def aclose(self) -> None:
        """Close litellm's connections if nobody else uses them."""
        await litellm_library.leave(self)

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self._name,
            "messages": [message_json(message) for message in request.messages],
            # litellm knows itself which models want another field or refuse a temperature.
            **options(request, Dialect()),
            "api_key": request.key,
            "api_base": self._base_url,
            # Ours ends first: the error is the same for every provider.
            "timeout": self._timeout_seconds * 2,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            # With tools it would load a gateway of its own for MCP, which needs a package that we do not.
            "_skip_mcp_handler": True,
        }
        if tools := offered(request):
            arguments["tools"] = [tool_json(tool) for tool in tools]
        return arguments


async def _listen(request: ModelRequest, stream: Any, patience: Patience) -> ModelResponse:
    assembly = Assembly()
    try:
        async for chunk in stream:
            patience.heard()
            text = assembly.add(_plain(chunk))
            if text and request.on_text is not None:
                request.on_text(text)
    finally:
        await _close(stream)
    if _cut(stream):
        raise ProviderUnavailable(BROKEN_OFF)
    return assembly.response(request.tools, streamed=True)


def _plain(answer: Any) -> Mapping[str, Any]:
    # Its objects seldom hold what their types promise; pydantic would warn each time.
    plain: Mapping[str, Any] = answer.model_dump(warnings=False)
    return plain


def _keep_retry_after(error: Any) -> None:
    """litellm keeps the provider's headers in a place of its own."""
    headers: Mapping[str, str] = getattr(error, "litellm_response_headers", None) or {}
    asked = retry_after(headers)
    if asked is not None:
        error.retry_after = asked


def _cut(stream: Any) -> bool:
    """litellm ends a stream that was cut with a finish reason of its own making; what it received it keeps apart."""
    seen = [getattr(stream, name, "") for name in ("received_finish_reason", "intermittent_finish_reason")]
    return all(reason is None for reason in seen)


async def _close(stream: Any) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
