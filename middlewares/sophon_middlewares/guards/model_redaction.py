"""Call layer of guard Redaction: secrets in what a model is sent, and in what it writes."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sophon.context import Context
from sophon.messages import Message
from sophon.models.model import Call, ModelRequest, ModelResponse, OnText
from sophon.security import KNOWN_SECRETS, redact
from sophon.security.stream_redactor import StreamRedactor
from sophon_middlewares.inner.result_redaction import MAX_INLINE_CHARACTERS


@contextmanager
def redact_turn(ctx: Context) -> Generator[None]:
    """Redact the results of tools and the model calls of a turn within the block; within another block nothing more."""
    if ctx.redactor is not None:
        yield
        return
    layer = RedactionLayer(ctx)
    ctx.redactor = redact
    # Outermost: a layer that reads tool calls from the text must read it as it is.
    ctx.call_layers.insert(0, layer)
    try:
        yield
    finally:
        ctx.redactor = None
        ctx.call_layers.remove(layer)


class RedactionLayer:
    """Call layer of one turn. Text, streamed text and reasoning are redacted; the arguments of tool calls are not: a
    person may have given a secret for exactly this call.
    """

    __slots__ = ("_ctx",)

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def __call__(self, request: ModelRequest, call: Call) -> ModelResponse:
        """Make the call, and return its response redacted."""
        text = _Listener(request.on_text) if request.on_text is not None else None
        reasoning = _Listener(request.on_reasoning) if request.on_reasoning is not None else None
        messages = await self._prepare(request.messages)
        if text is not None or messages is not request.messages:
            request = request.copy_with(messages=messages, on_text=text, on_reasoning=reasoning)
        response = await call(request)
        for listener in (reasoning, text):
            if listener is not None:
                listener.finish()
        return redact_response(response)

    async def _prepare(self, messages: list[Message]) -> list[Message]:
        if sum(len(each.content) for each in messages if each.redacted is None) > MAX_INLINE_CHARACTERS:
            return await self._ctx.services.clock.run_in_thread(lambda: redact_messages(messages))
        return redact_messages(messages)


class _Listener:
    """Passes streamed text on as soon as no later text can make it part of a secret."""

    __slots__ = ("_on_text", "_redactor")

    def __init__(self, on_text: OnText) -> None:
        self._on_text, self._redactor = on_text, StreamRedactor()

    def __call__(self, text: str) -> None:
        self._show(self._redactor.feed(text))

    def restart(self) -> None:
        """Begin anew: what was held back belongs to an attempt that failed."""
        self._redactor = StreamRedactor()
        restart = getattr(self._on_text, "restart", None)
        if restart is not None:
            restart()

    def finish(self) -> None:
        """Pass on the rest, redacted."""
        self._show(self._redactor.flush())

    def _show(self, text: str) -> None:
        if text:
            self._on_text(text)


def redact_response(response: ModelResponse) -> ModelResponse:
    """Return the response with text and reasoning redacted.

    Fields of the reasoning that the provider must get back unchanged keep it as it was written.
    """
    text, reasoning = redact(response.text), redact(response.reasoning)
    if text == response.text and reasoning == response.reasoning:
        return response
    fields: dict[str, Any] = dict(response.reasoning_fields)
    if reasoning != response.reasoning:  # None stands for the text
        fields = {name: response.reasoning if value is None else value for name, value in fields.items()}
    return response.copy_with(text=text, reasoning=reasoning, reasoning_fields=fields)


def redact_messages(messages: list[Message]) -> list[Message]:
    """Return the messages as a model may read them; the same list if nothing in it is replaced.

    In results of tools and in summaries every secret is replaced, in other messages those that the settings hold: what
    a person has written, and what models have answered, stays as it is. Each message is looked at once.
    """
    known = KNOWN_SECRETS.snapshot()
    sent: list[Message] | None = None
    for position, message in enumerate(messages):
        cached = message.redacted
        if cached is None or cached[0] is not known:
            cached = (known, _redact_message(message))
            object.__setattr__(message, "redacted", cached)
        if cached[1] is not None:
            sent = list(messages) if sent is None else sent
            sent[position] = cached[1]
    return messages if sent is None else sent


def _redact_message(message: Message) -> Message | None:
    """Return the message to send instead, or None for the same one."""
    by_form = message.role == "tool" or message.origin == "compaction"
    content = redact(message.content) if by_form else KNOWN_SECRETS.replace(message.content)
    if content == message.content:
        return None
    return replace(message, content=content)
