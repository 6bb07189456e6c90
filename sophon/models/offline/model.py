"""The offline model: answers by rules and with tools, so that the whole chain runs without a key or a network."""

import re
from collections.abc import Iterable, Sequence

from sophon.messages import Message, ToolCall, Usage
from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.models.offline.answering import Reply, reply
from sophon.models.offline.planning import plan, vote
from sophon.models.offline.summaries import LONGEST_SUMMARY, compacted, title
from sophon.models.offline.words import CHARACTERS_PER_TOKEN, tokens
from sophon.tools.tool import Tool

CONTEXT_WINDOW = 32_000
"""Tokens. It could read more; a real window makes it run through the same context management as any other model."""

_WORDS = re.compile(r"\S+\s*|\s+")
_PER_MESSAGE = 4
_PER_PARAMETER = 16

INFO = ModelInfo(
    name="offline",
    provider="offline",
    context_window=CONTEXT_WINDOW,
    function_calling=True,
    streaming=True,
    capabilities=frozenset({"function_calling", "planning", "summaries"}),
    prices=(0.0, 0.0),
)


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
        """Answer a request of any purpose; raises nothing."""
        answer = _answer(request)
        text = answer.text[: request.max_tokens * CHARACTERS_PER_TOKEN]
        if request.on_text is not None and not answer.calls:
            for match in _WORDS.finditer(text):
                request.on_text(match[0])
        return ModelResponse(
            text=text,
            tool_calls=list(answer.calls),
            usage=Usage(_asked(request.messages, request.tools), tokens(text) + _called(answer.calls)),
            finish_reason="tool_calls" if answer.calls else "stop" if text == answer.text else "length",
        )


def _answer(request: ModelRequest) -> Reply:
    if request.purpose in ("reply", "step"):
        return reply(request)
    return Reply(_internal(request))


def _internal(request: ModelRequest) -> str:
    match request.purpose:
        case "plan":
            return plan(request)
        case "vote":
            return vote(request)
        case "compaction":
            return compacted(request.messages, min(LONGEST_SUMMARY, request.max_tokens * CHARACTERS_PER_TOKEN))
        case "title":
            return title(request.messages)
        case "simulation":
            return (
                "Nothing was run. The offline model knows tools by rules only and cannot foresee what this call would "
                f"do; it was asked about: {title(request.messages)}."
            )
        case _:
            return "unsure: the offline model weighs nothing by its meaning; let a person or a real model judge this."


def _asked(messages: Sequence[Message], tools: Sequence[Tool]) -> int:
    told = sum(_PER_MESSAGE + tokens(m.content) + _called(m.tool_calls) for m in messages)
    return told + sum(_PER_MESSAGE + tokens(t.description) + _PER_PARAMETER * _parameters(t) for t in tools)


def _called(calls: Iterable[ToolCall]) -> int:
    return sum(_PER_MESSAGE + -(-len(call.canonical()) // CHARACTERS_PER_TOKEN) for call in calls)


def _parameters(tool: Tool) -> int:
    return len(tool.parameters.get("properties") or ())
