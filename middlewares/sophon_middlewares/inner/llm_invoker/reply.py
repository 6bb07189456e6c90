"""The latest reply of a turn and its final response, the reasoning kept with a reply, and the retry of an empty one.

What a chain that is entered again must replace, or repeat.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sophon.context import Context
from sophon.events import AgentStatus, ReasoningChunk
from sophon.events import Reasoning as ReasoningAdded
from sophon.extensions import Key
from sophon.invisible_characters import is_blank
from sophon.messages import Message, Reasoning, Response, ToolCall
from sophon.models.model import ModelRequest, ModelResponse, OnText
from sophon.tools.truncation import truncate

LAST_REPLY: Key[tuple[Message, int]] = Key("reply.last")
"""The reply that was appended last, and the number of messages with it."""

FINAL_RESPONSE: Key[Response] = Key("reply.final")
"""Response with which a person, a guard or the loop detector ended the turn; no further model call may change it."""

MAX_SHOWN_CHARACTERS = 20_000
"""Characters of reasoning in the events of one reply: replayed events must fit a frame of every client."""

MAX_KEPT_CHARACTERS = 200_000
"""Characters of reasoning that a message keeps; ten times what a reply of 4096 tokens can hold."""

EMPTY_REPLY_RETRIES = 2
"""Further calls after an empty reply, of the same turn and round; each is metered like any call."""

EMPTY_REPLY = "empty_reply"
"""`detail["reason"]` of a response that stands for an empty reply; its finish reason is `error`."""

RETRY_HINT = Message("user", "[Your last reply was empty. Write your answer as text.]", origin="hint")
"""Ends the request of a retry, and is not stored: a model that is asked the same gives the same."""


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


def reply_id(ctx: Context) -> str:
    """Return the id of the current reply: the same if a restarted or retried round makes it again."""
    return f"{ctx.run_id}:{ctx.iteration}"


def append_reply(ctx: Context, message: Message) -> None:
    """Append a model's reply to the messages."""
    ctx.messages.append(message)
    ctx.put(LAST_REPLY, (message, len(ctx.messages)))


def withdraw_reply(ctx: Context) -> Message | None:
    """Remove the last reply if nothing has followed it, because a new one replaces it; return it.

    This happens when a middleware calls next again: the model then gets the same request, not its own earlier reply.
    """
    if not ctx.messages:
        return None
    last, (reply, end) = ctx.messages[-1], ctx.get(LAST_REPLY) or (None, 0)
    is_replaced = last.role == "assistant" and len(ctx.messages) == end  # a middleware has edited it
    if last is not reply and not is_replaced:
        return None
    ctx.messages.pop()
    ctx.pending = []
    return last


def end_turn(ctx: Context, response: Response) -> None:
    """Set the final response, which `restore_final_response` sets again if the chain is entered again."""
    ctx.response = response
    ctx.put(FINAL_RESPONSE, response)


def restore_final_response(ctx: Context) -> bool:
    """Set the final response again; return False if there is none."""
    final = ctx.get(FINAL_RESPONSE)
    if final is None:
        return False
    ctx.response = final
    return True


def build_reasoning_listener(ctx: Context) -> OnText:
    """Return a listener that emits streamed reasoning, up to `MAX_SHOWN_CHARACTERS`; `restart` begins it anew."""
    return _ReasoningListener(ctx)


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


async def retry_empty_reply(
    ctx: Context,
    response: ModelResponse,
    build_request: Callable[[], ModelRequest],
    *,
    calls_allowed: bool,
    before_retry: Callable[[], None],
) -> ModelResponse:
    """Make a model call again while its reply is empty, `EMPTY_REPLY_RETRIES` times at most; return the last reply.

    A reply that is empty because the output limit was reached is not requested again: the limit would be the same.
    """
    for _ in range(EMPTY_REPLY_RETRIES):
        if not is_empty_reply(response, calls_allowed=calls_allowed) or response.finish_reason == "length":
            break
        before_retry()
        if ctx.has_listeners:
            ctx.emit(AgentStatus(status="retrying", detail="the model gave an empty reply"))
        request = build_request()
        request.messages.append(RETRY_HINT)
        response = await ctx.complete(request)
    return response


def is_empty_reply(response: ModelResponse, *, calls_allowed: bool) -> bool:
    """Return whether a reply has nothing for the user or the loop; calls count only where they may be made."""
    return not (calls_allowed and response.tool_calls) and is_blank(response.text)


def build_empty_response(response: ModelResponse) -> Response:
    """Return the response that tells the person of a reply which stayed empty."""
    if response.finish_reason == "length":
        text = "I could not answer: the model used up its output limit before it wrote any text."
    else:
        text = f"I could not answer: the model gave an empty reply {EMPTY_REPLY_RETRIES + 1} times."
    return Response(f"{text} Ask again, or choose another model.", "error", detail={"reason": EMPTY_REPLY})


def stands_for_empty_reply(response: Response) -> bool:
    """Return whether a response is one of `build_empty_response`."""
    return response.finish_reason == "error" and response.detail.get("reason") == EMPTY_REPLY
