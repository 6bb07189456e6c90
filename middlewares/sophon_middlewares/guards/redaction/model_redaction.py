"""Call layer, model hook and redactor of guard Redaction: secrets in what a model is sent, and in what it writes."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Protocol

from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import Message, ToolCall
from sophon.models.model import LAYERED_PURPOSES, Call, ModelRequest, ModelResponse, OnText
from sophon.security import KNOWN_SECRETS, redact
from sophon.security.redaction.stream_redactor import StreamRedactor
from sophon.security.redaction.value_redaction import replace_known_values
from sophon_middlewares.tool_calls.result_redaction import MAX_INLINE_CHARACTERS

_MESSAGES: Key["RedactedMessages"] = Key("redaction.messages")

MAX_TEXTS = 32
"""Texts that are remembered: the results of a round, which the audit log and the next model call read."""


class RedactedTexts:
    """Redactor that remembers the texts that it has returned, so that nobody searches them for secrets again.

    It keeps at most `MAX_TEXTS` texts, for as long as the turn. A new known secret makes it forget them.
    """

    __slots__ = ("_known", "_texts")

    def __init__(self) -> None:
        self._known: object = None
        self._texts: dict[str, None] = {}

    def __call__(self, text: str) -> str:
        """Return the text with its secrets replaced."""
        known = KNOWN_SECRETS.snapshot()  # before: a secret that is added meanwhile counts
        shown = redact(text)
        if known is not self._known:
            self._known, self._texts = known, {}
        if len(self._texts) >= MAX_TEXTS:
            del self._texts[next(iter(self._texts))]
        self._texts[shown] = None
        return shown

    def has_returned(self, text: str) -> bool:
        """Return whether the text is one that was returned, and no secret has become known since."""
        return text in self._texts and self._known is KNOWN_SECRETS.snapshot()


def redact_turn(ctx: Context) -> AbstractContextManager[None]:
    """Redact the results of tools and the model calls of a turn within the block; within another block nothing more."""
    return nullcontext() if ctx.redactor is not None else _RedactedTurn(ctx)


class _RedactedTurn:
    __slots__ = ("_ctx", "_hook", "_layer")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def __enter__(self) -> None:
        ctx = self._ctx
        messages = ctx.get(_MESSAGES)
        if messages is None:
            messages = RedactedMessages()
            ctx.put(_MESSAGES, messages)
        self._layer = RedactionLayer(ctx, messages)
        self._hook = RedactionHook(ctx, RedactedMessages(messages.results))
        ctx.redactor = messages.results
        # Outermost: a layer that reads tool calls from the text must read it as it is, and one that shows results of
        # tools as other texts must get them redacted.
        ctx.call_layers.insert(0, self._layer)
        # In front of a hook that masks: what is masked within a secret keeps the secret from being found.
        ctx.model_hooks.insert(0, self._hook)

    def __exit__(self, *error: object) -> None:
        self._ctx.redactor = None
        self._ctx.call_layers.remove(self._layer)
        self._ctx.model_hooks.remove(self._hook)


class RedactionLayer:
    """Call layer of one turn. Text, streamed text and reasoning are redacted; the arguments of tool calls are not: a
    person may have given a secret for exactly this call.
    """

    __slots__ = ("_ctx", "_messages")

    def __init__(self, ctx: Context, messages: "RedactedMessages") -> None:
        self._ctx, self._messages = ctx, messages

    async def __call__(self, request: ModelRequest, call: Call) -> ModelResponse:
        """Make the call, and return its response redacted."""
        return await _call_redacted(request, await self._messages.prepare(self._ctx, request.messages), call)


class RedactionHook:
    """Model hook of one turn, around its calls of every purpose: also what layers have added, such as a summary, is
    redacted before a model reads it.

    The response of a plan stays as it is, because a plan has the arguments of later tool calls, and so does one that
    the call layer redacts.
    """

    __slots__ = ("_ctx", "_messages")

    def __init__(self, ctx: Context, messages: "RedactedMessages") -> None:
        self._ctx, self._messages = ctx, messages

    async def __call__(self, request: ModelRequest, call: Call) -> ModelResponse:
        """Make the call with a redacted request, and return its response redacted."""
        messages = await self._messages.prepare(self._ctx, request.messages, is_whole=request.purpose == "compaction")
        if request.purpose not in LAYERED_PURPOSES and request.purpose != "plan":
            return await _call_redacted(request, messages, call)
        return await call(request if messages is request.messages else request.copy_with(messages=messages))


async def _call_redacted(request: ModelRequest, messages: list[Message], call: Call) -> ModelResponse:
    text, reasoning = rewrite_stream(request, StreamRedactor)
    if text is not None or messages is not request.messages:
        request = request.copy_with(messages=messages, on_text=text, on_reasoning=reasoning)
    response = await call(request)
    for listener in (reasoning, text):
        if listener is not None:
            listener.finish()
    return redact_response(response)


class StreamRewriter(Protocol):
    """Protocol of what changes a streamed text, and holds back what later text may still change."""

    def feed(self, text: str, /) -> str:
        """Return what can be passed on of the text so far."""
        ...

    def flush(self) -> str:
        """Return the rest at the end of the text."""
        ...


class RewritingListener:
    """Listener that passes streamed text on as a rewriter changes it."""

    __slots__ = ("_create", "_on_text", "_rewriter")

    def __init__(self, on_text: OnText, create: Callable[[], StreamRewriter]) -> None:
        self._on_text, self._create, self._rewriter = on_text, create, create()

    def __call__(self, text: str) -> None:
        self._show(self._rewriter.feed(text))

    def restart(self) -> None:
        """Begin anew: what was held back belongs to an attempt that failed."""
        self._rewriter = self._create()
        restart = getattr(self._on_text, "restart", None)
        if restart is not None:
            restart()

    def finish(self) -> None:
        """Pass on the rest."""
        self._show(self._rewriter.flush())

    def _show(self, text: str) -> None:
        if text:
            self._on_text(text)


def rewrite_stream(
    request: ModelRequest, create: Callable[[], StreamRewriter]
) -> tuple[RewritingListener | None, RewritingListener | None]:
    """Return listeners that rewrite text and reasoning for those of the request; None where it has none."""
    text, reasoning = (
        None if each is None else RewritingListener(each, create) for each in (request.on_text, request.on_reasoning)
    )
    return text, reasoning


def redact_response(response: ModelResponse) -> ModelResponse:
    """Return the response with text and reasoning redacted.

    Fields of the reasoning that the provider must get back unchanged keep it as it was written.
    """
    if not response.text and not response.reasoning:
        return response
    text, reasoning = redact(response.text), redact(response.reasoning)
    if text == response.text and reasoning == response.reasoning:
        return response
    fields: dict[str, Any] = dict(response.reasoning_fields)
    if reasoning != response.reasoning:  # None stands for the text
        fields = {name: response.reasoning if value is None else value for name, value in fields.items()}
    return response.copy_with(text=text, reasoning=reasoning, reasoning_fields=fields)


class RedactedMessages:
    """The messages of a turn as models may read them.

    In results of tools, in summaries and in what a summary is made of every secret is replaced, in other messages and
    in the arguments of earlier calls those that the settings hold: what a person has written, and what models have
    answered, stays as it is. Each message is looked at once, and of the messages of an earlier round only whether they
    are the same ones.
    """

    __slots__ = ("_last", "results")

    def __init__(self, results: RedactedTexts | None = None) -> None:
        self.results = results or RedactedTexts()
        """Redacts the results of tools; a message that is one of them needs no second search."""
        self._last: tuple[object, list[Message], list[Message]] = (None, [], [])
        """Of the last call the known secrets, the messages, and what was sent instead. Replaced as a whole: calls of
        branches may run in threads at the same time.
        """

    async def prepare(self, ctx: Context, messages: list[Message], *, is_whole: bool = False) -> list[Message]:
        """Return the messages as a model may read them, searched in a thread if they are long; the same list if nothing
        is replaced. With `is_whole` every secret in every text is replaced.
        """
        redact_all = self.redact_whole if is_whole else self.redact
        begun = self._find_begun(messages, KNOWN_SECRETS.snapshot())
        if sum(map(_count_characters, messages[len(begun) :])) > MAX_INLINE_CHARACTERS:
            return await ctx.services.clock.run_in_thread(lambda: redact_all(messages))
        return redact_all(messages)

    def redact(self, messages: list[Message]) -> list[Message]:
        """Return the messages as a model may read them; the same list if nothing in it is replaced."""
        known = KNOWN_SECRETS.snapshot()
        begun = self._find_begun(messages, known)
        sent = begun.copy()
        for message in messages[len(begun) :]:
            cached = message.redacted
            if cached is None or cached[0] is not known:
                cached = (known, self._redact_message(message))
                object.__setattr__(message, "redacted", cached)
            sent.append(message if cached[1] is None else cached[1])
        self._last = (known, messages.copy(), sent)
        return messages if sent == messages else sent.copy()

    @staticmethod
    def redact_whole(messages: list[Message]) -> list[Message]:
        """Return the messages with every secret replaced; the same list if there is none."""
        sent = [replace(each, content=redact(each.content)) for each in messages]
        return messages if sent == messages else sent

    def _find_begun(self, messages: list[Message], known: object) -> list[Message]:
        """Return what was sent instead of the first messages, if they are those of the last call.

        To compare them costs little: the same objects are equal.
        """
        last_known, begun, sent = self._last
        return sent if last_known is known and messages[: len(begun)] == begun else []

    def _redact_message(self, message: Message) -> Message | None:
        """Return the message to send instead, or None for the same one."""
        if message.role == "tool" or message.origin == "compaction":
            content = message.content if self.results.has_returned(message.content) else redact(message.content)
        else:
            content = KNOWN_SECRETS.replace(message.content)
        calls = [_replace_known_in_call(each) for each in message.tool_calls]
        if content == message.content and calls == message.tool_calls:
            return None
        return replace(message, content=content, tool_calls=calls)


def _count_characters(message: Message) -> int:
    if message.redacted is not None:
        return 0
    return len(message.content) + sum(len(each.canonical_arguments()) for each in message.tool_calls)


def _replace_known_in_call(call: ToolCall) -> ToolCall:
    arguments = replace_known_values(call.arguments)
    return call if arguments == call.arguments else replace(call, arguments=arguments)


def is_redacted(ctx: Context, text: str) -> bool:
    """Return whether the redactor of the turn has returned exactly this text a moment ago."""
    return isinstance(ctx.redactor, RedactedTexts) and ctx.redactor.has_returned(text)
