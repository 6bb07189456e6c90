"""The offline model: answers by rules and with tools, so that the whole chain runs without a key or a network."""

import re

from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.models.offline.usage import CHARACTERS_PER_TOKEN, usage

CONTEXT_WINDOW = 32_000
"""Tokens. It could read more; a real window makes it run through the same context management as any other model."""

INFO = ModelInfo(
    name="offline",
    provider="offline",
    context_window=CONTEXT_WINDOW,
    function_calling=True,
    streaming=True,
    capabilities=frozenset({"function_calling", "planning", "summaries"}),
    prices=(0.0, 0.0),
)

_WORDS = re.compile(r"\S+\s*|\s+")


class OfflineModel:
    """A model of rules: it reads clauses, calls the tools that they ask for, and tells what these gave.

    Deterministic: the same request has the same response, ids of calls included; it has no clock, no state and no
    chance. It never invents a result, and instructions inside results are only ever shown. It says what it is in its
    first reply of a conversation. Text is streamed word by word; nothing is streamed beside tool calls.
    """

    @property
    def info(self) -> ModelInfo:
        """`offline/offline`, 32,000 tokens of context, function calling, free."""
        return INFO

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer a request of any purpose; raises nothing of its own."""
        # Lazy: a hundred patterns are compiled for the rules, and `import sophon` must stay fast.
        from sophon.models.offline.purposes import answer

        answered = answer(request)
        text = answered.text[: request.max_tokens * CHARACTERS_PER_TOKEN]
        if request.on_text is not None and not answered.calls:
            for match in _WORDS.finditer(text):
                request.on_text(match[0])
        return ModelResponse(
            text=text,
            tool_calls=list(answered.calls),
            usage=usage(request, text, answered.calls),
            finish_reason="tool_calls" if answered.calls else "stop" if text == answered.text else "length",
        )
