"""Reasoning of a reply: streamed and announced as events of its own, and kept with the message within a bound."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sophon.context import Context
from sophon.events import Reasoning as ReasoningAdded
from sophon.events import ReasoningChunk
from sophon.messages import Message, Reasoning, ToolCall
from sophon.models.model import ModelResponse, OnText
from sophon.tools.truncation import truncate
from sophon_middlewares.inner.llm_invoker.reply import reply_id

MAX_SHOWN_CHARACTERS = 20_000
"""Characters of reasoning in the events of one reply: replayed events must fit a frame of every client."""

MAX_KEPT_CHARACTERS = 200_000
"""Characters of reasoning that a message keeps; ten times what a reply of 4096 tokens can hold."""


def build_reasoning_listener(ctx: Context) -> OnText:
    """Return a listener that emits streamed reasoning, up to `MAX_SHOWN_CHARACTERS`; `restart` begins it anew."""
    return _ReasoningListener(ctx)


class _ReasoningListener:
    """Emits the pieces of one reply's reasoning with their offsets."""

    __slots__ = ("_ctx", "_length", "_reasoning_id")

    def __init__(self, ctx: Context) -> None:
        self._ctx, self._reasoning_id, self._length = ctx, reply_id(ctx), 0

    def __call__(self, text: str) -> None:
        text = text[: MAX_SHOWN_CHARACTERS - self._length]
        if text:
            self._ctx.emit(ReasoningChunk(reasoning_id=self._reasoning_id, text=text, offset=self._length))
            self._length += len(text)

    def restart(self) -> None:
        """Begin anew, because the model is asked again."""
        self._length = 0


def emit_reasoning(ctx: Context, response: ModelResponse) -> None:
    """Emit the complete reasoning of a reply; a plan step is silent."""
    if response.reasoning.strip() and not ctx.depth and ctx.has_listeners:
        text = truncate(response.reasoning, MAX_SHOWN_CHARACTERS)
        ctx.emit(ReasoningAdded(reasoning_id=reply_id(ctx), model=_model_id(response), text=text))


def reasoning_from_response(response: ModelResponse, calls: Sequence[ToolCall]) -> Reasoning | None:
    """Return the reasoning to keep with a reply; None if there is none.

    The provider's fields are needed for the results of the reply's calls only. They are dropped with a text that is
    too long to keep, because a cut block is not valid any more.
    """
    fields: Mapping[str, Any] = response.reasoning_fields if calls else {}
    if not response.reasoning and not fields:
        return None
    if len(response.reasoning) + len(str(fields)) > MAX_KEPT_CHARACTERS:
        return Reasoning(truncate(response.reasoning, MAX_KEPT_CHARACTERS // 2), _model_id(response))
    return Reasoning(response.reasoning, _model_id(response), fields)


def without_provider_fields(message: Message) -> Message:
    """Return the message as it is stored: without the provider's fields, which only its own turn sends back."""
    if message.reasoning is None or not message.reasoning.fields:
        return message
    return replace(message, reasoning=replace(message.reasoning, fields={}))


def _model_id(response: ModelResponse) -> str:
    return response.model.id if response.model is not None else ""
