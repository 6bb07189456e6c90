"""Redaction of a turn, by a call layer, a model hook and a redactor: secrets in what models are sent and write."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from sophon.clock import Clock
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import Message, ToolCall
from sophon.models.model import LAYERED_PURPOSES, Call, ModelRequest, ModelResponse, OnText
from sophon.security import KNOWN_SECRETS, redact
from sophon.security.redaction.stream_redactor import StreamRedactor
from sophon.security.redaction.value_redaction import replace_known_values
from sophon_middlewares.tool_calls.result_redaction import MAX_INLINE_CHARACTERS

_REDACTION: Key["TurnRedaction"] = Key("redaction.turn")

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
        known = KNOWN_SECRETS.values  # before: a secret that is added meanwhile counts
        shown = redact(text)
        if known is not self._known:
            self._known, self._texts = known, {}
        if len(self._texts) >= MAX_TEXTS:
            del self._texts[next(iter(self._texts))]
        self._texts[shown] = None
        return shown

    def has_returned(self, text: str) -> bool:
        """Return whether the text is one that was returned, and no secret has become known since."""
        return text in self._texts and self._known is KNOWN_SECRETS.values


@contextmanager
def redact_turn(ctx: Context) -> Generator[None]:
    """Redact the results of tools and the model calls of a turn within the block; within another block nothing more."""
    if ctx.redactor is not None:
        yield
        return
    redaction = ctx.get(_REDACTION)
    if redaction is None:
        redaction = TurnRedaction(ctx.services.clock)
        ctx.put(_REDACTION, redaction)
    ctx.redactor = redaction.results
    # Outermost: a layer that reads tool calls from the text must read it as it is, and one that shows results of
    # tools as other texts must get them redacted.
    ctx.call_layers.insert(0, redaction.redact_reply)
    # In front of a hook that masks: what is masked within a secret keeps the secret from being found.
    ctx.model_hooks.insert(0, redaction.redact_call)
    try:
        yield
    finally:
        ctx.redactor = None
        ctx.call_layers.remove(redaction.redact_reply)
        ctx.model_hooks.remove(redaction.redact_call)


class TurnRedaction:
    """Redaction of one turn: the redactor of its results, a call layer and a model hook.

    Text, streamed text and reasoning of a reply are redacted; the arguments of its tool calls are not: a person may
    have given a secret for exactly this call.
    """

    __slots__ = ("_in_calls", "_in_replies", "results")

    def __init__(self, clock: Clock) -> None:
        self.results = RedactedTexts()
        """Redacts the results of tools; a message that is one of them needs no second search."""
        self._in_replies = RedactedMessages(clock, self.results)
        self._in_calls = RedactedMessages(clock, self.results)

    async def redact_reply(self, request: ModelRequest, call: Call) -> ModelResponse:
        """Call layer: make the call, and return its response redacted."""
        return await _call_redacted(request, await self._in_replies.prepare(request.messages), call)

    async def redact_call(self, request: ModelRequest, call: Call) -> ModelResponse:
        """Model hook, around calls of every purpose: also what layers have added, such as a summary, is redacted before
        a model reads it.

        The response of a plan stays as it is, because a plan has the arguments of later tool calls, and so does one
        that the call layer redacts.
        """
        messages = await self._in_calls.prepare(request.messages, is_whole=request.purpose == "compaction")
        if request.purpose not in LAYERED_PURPOSES and request.purpose != "plan":
            return await _call_redacted(request, messages, call)
        return await call(request if messages is request.messages else request.copy_with(messages=messages))


async def _call_redacted(request: ModelRequest, messages: list[Message], call: Call) -> ModelResponse:
    if request.on_text is None and request.on_reasoning is None:
        if messages is not request.messages:
            request = request.copy_with(messages=messages)
        return redact_response(await call(request))
    text, reasoning = rewrite_stream(request, StreamRedactor)
    response = await call(request.copy_with(messages=messages, on_text=text, on_reasoning=reasoning))
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

    __slots__ = ("_clock", "_last", "_results")

    def __init__(self, clock: Clock, results: RedactedTexts) -> None:
        self._clock, self._results = clock, results
        self._last: tuple[object, list[Message], list[Message]] = (None, [], [])
        """Of the last call the known secrets, the messages, and what was sent instead. Replaced as a whole: calls of
        branches may run in threads at the same time.
        """

    async def prepare(self, messages: list[Message], *, is_whole: bool = False) -> list[Message]:
        """Return the messages as a model may read them, searched in a thread if they are long; the same list if nothing
        is replaced. With `is_whole` every secret in every text is replaced.
        """
        known, (last_known, begun, sent) = KNOWN_SECRETS.values, self._last
        # To compare them costs little: the same objects are equal.
        if last_known is not known or messages[: len(begun)] != begun:
            sent = []
        redact_all = redact_whole if is_whole else partial(self._redact, known=known, begun=sent)
        unread = [each for each in messages[len(sent) :] if each.redacted is None]
        arguments = (call.canonical_arguments() for each in unread for call in each.tool_calls)
        if sum(len(each.content) for each in unread) + sum(map(len, arguments)) > MAX_INLINE_CHARACTERS:
            return await self._clock.run_in_thread(lambda: redact_all(messages))
        return redact_all(messages)

    def _redact(self, messages: list[Message], *, known: object, begun: list[Message]) -> list[Message]:
        """Return the messages as a model may read them; `begun` is what to send instead of the first ones."""
        if KNOWN_SECRETS.values is not known:  # one was added on the way to the thread
            known, begun = KNOWN_SECRETS.values, []
        sent = begun.copy()
        for message in messages[len(begun) :]:
            cached = message.redacted
            if cached is None or cached[0] is not known:
                cached = (known, self._redact_message(message))
                object.__setattr__(message, "redacted", cached)
            sent.append(message if cached[1] is None else cached[1])
        self._last = (known, messages.copy(), sent)
        return messages if sent == messages else sent.copy()

    def _redact_message(self, message: Message) -> Message | None:
        """Return the message to send instead, or None for the same one."""
        if message.role == "tool" or message.origin == "compaction":
            content = message.content if self._results.has_returned(message.content) else redact(message.content)
        else:
            content = KNOWN_SECRETS.replace(message.content)
        calls = message.tool_calls
        if calls and KNOWN_SECRETS.values:
            calls = [_replace_known_in_call(each) for each in calls]
        if content == message.content and calls == message.tool_calls:
            return None
        return replace(message, content=content, tool_calls=calls)


def redact_whole(messages: list[Message]) -> list[Message]:
    """Return the messages with every secret replaced; the same list if there is none."""
    sent = [replace(each, content=redact(each.content)) for each in messages]
    return messages if sent == messages else sent


def _replace_known_in_call(call: ToolCall) -> ToolCall:
    arguments = replace_known_values(call.arguments)
    return call if arguments == call.arguments else replace(call, arguments=arguments)


def is_redacted(ctx: Context, text: str) -> bool:
    """Return whether the redactor of the turn has returned exactly this text a moment ago."""
    return isinstance(ctx.redactor, RedactedTexts) and ctx.redactor.has_returned(text)
