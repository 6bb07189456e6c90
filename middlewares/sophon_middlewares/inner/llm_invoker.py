"""LLM invoker: the terminal of the chain, which requests one reply from the model."""

from dataclasses import dataclass

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import ChainError
from sophon.events import StreamChunk, StreamReset
from sophon.extensions import Key
from sophon.messages import Message, Response, ToolCall
from sophon.models.model import ModelRequest, ModelResponse, OnText
from sophon.transcript_validation import is_valid_transcript, repair_transcript


@dataclass(slots=True)
class _InvokerState:
    """State that the turn's previous replies leave for the next one.

    The first `validated` messages are valid; `round` is the round of tool calls after which the last reply began, -1
    before the first; `used_ids` are the ids of the turn's calls, None until there is a call.
    """

    validated: int
    round: int = -1
    used_ids: set[str] | None = None


_TURN_STATE: Key[_InvokerState] = Key("llm_invoker.earlier")


class LlmInvoker:
    """Requests a reply, appends it to the messages and leaves its calls in `ctx.pending`.

    Repairs the transcript first (exactly one result per call, in a legal place). max_tokens 4096 and tool_choice auto
    (reference/sophon.md 5.12); streams when the turn streams. Routing, retries, failover, call layers and metering
    belong to the gateway. Raises ModelError, BudgetExceeded, and ChainError if it is reached in a settling pass.
    """

    zone = "inner"
    terminal = True
    unique = True
    acts = {"model call": "asks the model over the turn's route and call layers; repairs the transcript before"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if ctx.settling:
            raise ChainError(
                "tool calls are pending and were not settled: put ToolExecution() in front of LlmInvoker()"
            )
        turn_state = ctx.get(_TURN_STATE)
        if turn_state is None:
            turn_state = _InvokerState(ctx.recorded)
            ctx.put(_TURN_STATE, turn_state)
        _repair(ctx, turn_state)
        if ctx.streamed_chunks:
            _clear_streamed(ctx, turn_state)
        turn_state.round = ctx.iteration
        response = await ctx.complete(_build_request(ctx))
        _apply_response(ctx, response, turn_state)


def _clear_streamed(ctx: Context, turn_state: _InvokerState) -> None:
    """Clear the streamed text of a previous reply.

    If that reply belongs to the same round, a middleware has called next again, and clients must learn that the new
    reply replaces it.
    """
    if turn_state.round == ctx.iteration:
        reset_stream(ctx)
    ctx.streamed_chunks = []


def reset_stream(ctx: Context) -> None:
    """Reset the stream: emit StreamReset if part of the reply was already streamed."""
    if ctx.streamed_chunks:
        ctx.streamed_chunks = []
        ctx.epoch += 1
        ctx.emit(StreamReset(epoch=ctx.epoch, reason="the reply was restarted"))


def _build_request(ctx: Context) -> ModelRequest:
    # A copy, because a model may keep its request while the turn appends to the list.
    return ctx.request(
        list(ctx.messages),
        purpose="step" if ctx.depth else "reply",
        tools=tuple(ctx.tools) if ctx.tools_allowed else (),
        on_text=build_stream_listener(ctx) if ctx.stream and not ctx.depth else None,
    )


def build_stream_listener(ctx: Context) -> OnText:
    """Return a listener that emits the text of a streamed reply and records what was streamed."""

    def on_text(text: str) -> None:
        ctx.streamed_chunks.append(text)
        if ctx.has_listeners:
            ctx.emit(StreamChunk(epoch=ctx.epoch, text=text))

    return on_text


def _apply_response(ctx: Context, response: ModelResponse, turn_state: _InvokerState) -> None:
    calls = _with_unique_ids(ctx, response.tool_calls, turn_state) if ctx.tools_allowed and response.tool_calls else []
    ctx.messages.append(Message("assistant", response.text, calls))
    ctx.pending = list(calls)
    reason = response.finish_reason if calls or response.finish_reason != "tool_calls" else "stop"
    ctx.response = Response(response.text, reason, tool_calls=calls)


def _with_unique_ids(ctx: Context, calls: list[ToolCall], turn_state: _InvokerState) -> list[ToolCall]:
    """Give calls unique ids: the journal is keyed by id, and some providers send none, or repeat them in every
    reply.
    """
    used = turn_state.used_ids
    if used is None:
        used = {call.id for message in ctx.messages[ctx.recorded :] for call in message.tool_calls}
        turn_state.used_ids = used
    own: list[ToolCall] = []
    for call in calls:
        if not call.id or call.id in used:
            call = ToolCall(f"call_{ctx.services.clock.new_id()}", call.name, call.arguments, call.malformed)
        used.add(call.id)
        own.append(call)
    return own


def _repair(ctx: Context, turn_state: _InvokerState) -> None:
    """Validate and repair the messages that are new since the last call; stored history was repaired when it was
    loaded.
    """
    start = turn_state.validated
    if not is_valid_transcript(ctx.messages, start):
        ctx.messages[start:] = repair_transcript(ctx.messages, start)
    turn_state.validated = len(ctx.messages)
