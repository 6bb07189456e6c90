"""Offline model: answers by rules and with tools, so that the whole chain runs without a key or a network."""

from sophon._python.lazy_pattern import lazy_pattern
from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.models.offline.usage_estimate import CHARACTERS_PER_TOKEN, estimate_usage

CONTEXT_WINDOW = 32_000
"""Tokens. The rules have no limit; a realistic window exercises the same context management as any other model."""

OFFLINE_MODEL_INFO = ModelInfo(
    name="offline",
    provider="offline",
    context_window=CONTEXT_WINDOW,
    function_calling=True,
    streaming=True,
    capabilities=frozenset({"function_calling", "planning", "summaries"}),
    prices=(0.0, 0.0),
)

_WORDS = lazy_pattern(r"\S+\s*|\s+")


class OfflineModel:
    """Rule-based model: splits a request into clauses, calls the tools that they ask for, and reports the results.

    Deterministic: the same request has the same response, call ids included; it uses no clock, state or randomness. It
    never invents a result, and it never follows instructions inside results. It introduces itself in its first reply of
    a conversation. Text is streamed word by word; a response with tool calls streams nothing.
    """

    @property
    def info(self) -> ModelInfo:
        """`offline/offline`, 32,000 tokens of context, function calling, free."""
        return OFFLINE_MODEL_INFO

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the response to a request of any purpose; raises no errors of its own."""
        # Lazy: importing the rules compiles a hundred patterns, and `import sophon` must stay fast.
        from sophon.models.offline.purpose_dispatch import answer_request

        reply = answer_request(request)
        text = reply.text[: request.max_tokens * CHARACTERS_PER_TOKEN]
        if request.on_text is not None and not reply.tool_calls:
            for match in _WORDS.finditer(text):
                request.on_text(match[0])
        return ModelResponse(
            text=text,
            tool_calls=list(reply.tool_calls),
            usage=estimate_usage(request, text, reply.tool_calls),
            finish_reason="tool_calls" if reply.tool_calls else "stop" if text == reply.text else "length",
        )
