"""The terminal of the chain: one reply of the model."""

from dataclasses import dataclass

from sophon.context import Context
from sophon.errors import ChainError
from sophon.events import StreamChunk, StreamReset
from sophon.extensions import Key
from sophon.messages import Message, Response, ToolCall
from sophon.models.model import ModelRequest, ModelResponse, OnText
from sophon.pipeline import Next
from sophon.transcript import is_sound, repaired


@dataclass(slots=True)
class _Earlier:
    """What the replies so far leave to the next one.

    `sound_upto` messages of the turn were looked at; `round` is the round of tool calls behind which the last reply
    began, -1 before the first; `used_ids` are those of the turn's calls, None until there is a call.
    """

    sound_upto: int
    round: int = -1
    used_ids: set[str] | None = None


_EARLIER: Key[_Earlier] = Key("llm_invoker.earlier")


class LlmInvoker:
    """Asks the model, appends its reply to the messages and leaves its calls in `ctx.pending`.

    Repairs the transcript first (exactly one result per call, in a legal place). max_tokens 4096 and tool_choice auto
    (reference/sophon.md 5.12); streams when the turn streams. Routing, retries, failover, layers and metering belong
    to the gateway. Raises ModelError, BudgetExceeded, and ChainError when it is met in a settling pass.
    """

    zone = "inner"
    terminal = True
    unique = True
    acts = {"model call": "asks the model over the turn's route and call layers; repairs the transcript before"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if ctx.settling:
            raise ChainError(
                "tool calls are pending and nothing has settled them: put ToolExecution() in front of LlmInvoker()"
            )
        earlier = ctx.get(_EARLIER)
        if earlier is None:
            earlier = _Earlier(ctx.recorded)
            ctx.put(_EARLIER, earlier)
        _repair(ctx, earlier)
        if ctx.shown:
            _clear(ctx, earlier)
        earlier.round = ctx.iteration
        response = await ctx.complete(_request(ctx))
        _take(ctx, response, earlier)


def _clear(ctx: Context, earlier: _Earlier) -> None:
    """What was shown belongs to an earlier reply. Was that one of the same round, somebody has called next again, and
    whoever listens must know that this reply takes its place.
    """
    if earlier.round == ctx.iteration:
        begin_anew(ctx)
    ctx.shown = []


def begin_anew(ctx: Context) -> None:
    """What has been shown of the reply no longer counts: tell whoever has seen it."""
    if ctx.shown:
        ctx.shown = []
        ctx.epoch += 1
        ctx.emit(StreamReset(epoch=ctx.epoch, reason="the reply was begun anew"))


def _request(ctx: Context) -> ModelRequest:
    # The list is copied once per call: a model may keep its request, and the turn goes on appending.
    return ctx.request(
        list(ctx.messages),
        purpose="step" if ctx.depth else "reply",
        tools=tuple(ctx.tools) if ctx.tools_allowed else (),
        on_text=listener(ctx) if ctx.stream and not ctx.depth else None,
    )


def listener(ctx: Context) -> OnText:
    """Shows the text of a streamed reply as it comes, and keeps what was shown."""

    def on_text(text: str) -> None:
        ctx.shown.append(text)
        if ctx.observed:
            ctx.emit(StreamChunk(epoch=ctx.epoch, text=text))

    return on_text


def _take(ctx: Context, response: ModelResponse, earlier: _Earlier) -> None:
    calls = _with_own_ids(ctx, response.tool_calls, earlier) if ctx.tools_allowed and response.tool_calls else []
    ctx.messages.append(Message("assistant", response.text, calls))
    ctx.pending = list(calls)
    reason = response.finish_reason if calls or response.finish_reason != "tool_calls" else "stop"
    ctx.response = Response(response.text, reason, tool_calls=calls)


def _with_own_ids(ctx: Context, calls: list[ToolCall], earlier: _Earlier) -> list[ToolCall]:
    """The journal tells calls apart by id, and some providers send none, or the same ones in every reply."""
    used = earlier.used_ids
    if used is None:
        used = {call.id for message in ctx.messages[ctx.recorded :] for call in message.tool_calls}
        earlier.used_ids = used
    own: list[ToolCall] = []
    for call in calls:
        if not call.id or call.id in used:
            call = ToolCall(f"call_{ctx.services.clock.new_id()}", call.name, call.arguments, call.malformed)
        used.add(call.id)
        own.append(call)
    return own


def _repair(ctx: Context, earlier: _Earlier) -> None:
    """Looks at what is new since the last call of the turn, and at nothing twice; stored history came repaired."""
    start = earlier.sound_upto
    if not is_sound(ctx.messages, start):
        ctx.messages[start:] = repaired(ctx.messages, start)
    earlier.sound_upto = len(ctx.messages)
