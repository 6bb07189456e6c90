"""LLM invoker: the terminal of the chain, which requests one reply from the model."""

from collections.abc import Sequence
from functools import partial

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.pipeline import CONCURRENT_NEXT, Next
from sophon.context import Context
from sophon.context.message_list import check_message
from sophon.context.reply_stream import build_stream_listener, restart_stream
from sophon.errors import ChainError
from sophon.events import Message as MessageAdded
from sophon.events import ToolsOffered
from sophon.extensions import Key
from sophon.messages import Message, Response, ToolCall, begins_turn, collect_earlier_texts, is_earlier_text
from sophon.models.model import DEFAULT_MAX_TOKENS, ModelRequest, ModelResponse
from sophon.models.reply_size import count_utf8_bytes
from sophon.tools.tool import Tool
from sophon.turn.permissions import find_allowed_tools
from sophon.turn.transcript_validation import is_valid_transcript, repair_transcript
from sophon_middlewares.inner.llm_invoker.reply import (
    append_reply,
    build_empty_response,
    build_reasoning_listener,
    emit_reasoning,
    is_empty_reply,
    reasoning_from_response,
    reply_id,
    retry_empty_reply,
    withdraw_reply,
)
from sophon_middlewares.tool_calls.call_checks import offer_permitted


class EarlierTextSize:
    """Size of a turn's earlier texts, counted on with each round: a round costs what it has added.

    It counts anew from the beginning of the turn if the last message that it has seen is no longer where it was.
    """

    __slots__ = ("_bytes", "_last", "_seen")

    def __init__(self) -> None:
        self._bytes = 0
        self._seen = 0
        self._last: Message | None = None

    def count_bytes(self, messages: Sequence[Message]) -> int:
        """Return the bytes, in UTF-8, of `collect_earlier_texts(messages)`."""
        seen, length = self._seen, len(messages)
        if not 0 < seen <= length or messages[seen - 1] is not self._last:
            earlier = collect_earlier_texts(messages)
            self._bytes = sum(map(count_utf8_bytes, earlier)) if earlier else 0
        else:
            for index in range(seen, length):
                message = messages[index]
                if message.role == "user":
                    if begins_turn(message):
                        self._bytes = 0
                elif message.content and is_earlier_text(message):  # in a long turn nearly none has a text
                    self._bytes += count_utf8_bytes(message.content)
        self._seen, self._last = length, messages[-1] if messages else None
        return self._bytes


@dataclass(slots=True)
class _InvokerState:
    """State that the turn's previous replies leave for the next one.

    The first `validated` messages are valid; `round` is the round of tool calls after which the last reply began, -1
    before the first; `used_ids` are the ids of the turn's calls, None until there is a call. `is_asking` is True while
    a reply is requested. `earlier_texts` is the size of the turn's texts so far. `offered` are the tools of the last
    request.
    """

    validated: int
    earlier_texts: EarlierTextSize
    round: int = -1
    used_ids: set[str] | None = None
    is_asking: bool = False
    offered: tuple[Tool, ...] = ()


_TURN_STATE: Key[_InvokerState] = Key("llm_invoker.earlier")


class LlmInvoker:
    """Requests a reply, appends it to the messages and leaves its calls in `ctx.pending`.

    Reached again in the same round, it replaces its previous reply. Repairs the transcript first (exactly one result
    per call, in a legal place), and leaves out tools that the principal may not use. max_tokens 4096, or
    `ContextWindow.Reserve` if that is more, and tool_choice auto (Sophon's guide, LLM invoker); streams when the turn
    streams. A reply with neither text nor calls is requested again twice, then the response says so (`error`, see
    reply.py). Routing, retries, failover, call layers and metering belong to the gateway. Raises ModelError,
    BudgetExceeded, and ChainError if it is reached in a settling pass, or twice at the same time.
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
            turn_state = _InvokerState(ctx.recorded, EarlierTextSize())
            ctx.put(_TURN_STATE, turn_state)
        if turn_state.is_asking:
            raise ChainError(CONCURRENT_NEXT)
        _remove_malformed(ctx, turn_state.validated)
        withdrawn = withdraw_reply(ctx)
        if withdrawn is not None and turn_state.used_ids is not None:
            turn_state.used_ids.difference_update(call.id for call in withdrawn.tool_calls)
        _repair(ctx, turn_state)
        if turn_state.round == ctx.iteration:
            _withdraw_streamed(ctx, withdrawn)
        ctx.streamed_chunks = []
        turn_state.round = ctx.iteration
        turn_state.is_asking = True
        if ctx.settings.guards.authorization.enabled:
            offer_permitted(ctx)
        if ctx.has_listeners:
            _emit_offer(ctx, turn_state)
        try:
            response = await ctx.complete(_build_request(ctx, turn_state))
            is_empty = is_empty_reply(response, calls_allowed=ctx.tools_allowed)
            if is_empty:
                response = await _retry_empty_reply(ctx, response, turn_state)
                is_empty = is_empty_reply(response, calls_allowed=ctx.tools_allowed)
        finally:
            turn_state.is_asking = False
        if is_empty:
            _apply_empty_response(ctx, response)
        else:
            _apply_response(ctx, response, turn_state)


def _emit_offer(ctx: Context, turn_state: _InvokerState) -> None:
    """Emit which tools the model is offered, if they are others than before."""
    tools = tuple(ctx.tools) if ctx.tools_allowed else ()
    allowed = find_allowed_tools(ctx)  # a call layer removes the others
    if allowed is not None:
        tools = tuple(tool for tool in tools if tool.name in allowed)
    if tools == turn_state.offered:
        return
    turn_state.offered = tools
    by_group: dict[str, int] = {}
    for tool in tools:
        by_group[tool.group] = by_group.get(tool.group, 0) + ctx.services.gateway.tokens.count_tool(tool)
    ctx.emit(ToolsOffered(names=[tool.name for tool in tools], tokens=sum(by_group.values()), by_group=by_group))


def _withdraw_streamed(ctx: Context, withdrawn: Message | None) -> None:
    """Withdraw the streamed text of a previous reply of the same round: a middleware has called next again.

    Clients must learn that the new reply replaces it: also if it had calls, so that its text counts as an earlier text
    already.
    """
    was_announced = withdrawn is not None and withdrawn.tool_calls and withdrawn.content.strip()
    if was_announced and ctx.stream and not ctx.depth:
        restart_stream(ctx, "the reply was restarted")
    else:
        reset_stream(ctx)


def reset_stream(ctx: Context) -> None:
    """Reset the stream if part of the reply was already streamed."""
    if ctx.streamed_chunks:
        restart_stream(ctx, "the reply was restarted")


async def _retry_empty_reply(ctx: Context, response: ModelResponse, turn_state: _InvokerState) -> ModelResponse:
    return await retry_empty_reply(
        ctx,
        response,
        partial(_build_request, ctx, turn_state),
        calls_allowed=ctx.tools_allowed,
        before_retry=partial(reset_stream, ctx),
    )


def _build_request(ctx: Context, turn_state: _InvokerState) -> ModelRequest:
    streams = ctx.stream and not ctx.depth
    # The answer of a turn is all its texts before tool calls, too.
    settings = ctx.services.settings
    most, earlier = settings.agent_execution.max_reply_bytes, turn_state.earlier_texts
    # A copy, because a model may keep its request while the turn appends to the list.
    return ctx.request(
        list(ctx.messages),
        purpose="step" if ctx.depth else "reply",
        tools=tuple(ctx.tools) if ctx.tools_allowed else (),
        max_tokens=max(DEFAULT_MAX_TOKENS, settings.context_window.reserve or 0),
        temperature=ctx.temperature,
        on_text=build_stream_listener(ctx) if streams else None,
        on_reasoning=build_reasoning_listener(ctx) if streams and ctx.has_listeners else None,
        max_reply_bytes=max(0, most - earlier.count_bytes(ctx.messages)),
    )


def _apply_empty_response(ctx: Context, response: ModelResponse) -> None:
    ctx.pending = []
    ctx.response = build_empty_response(response)
    append_reply(ctx, Message("assistant", ctx.response.text))


def _apply_response(ctx: Context, response: ModelResponse, turn_state: _InvokerState) -> None:
    calls = _with_unique_ids(ctx, response.tool_calls, turn_state) if ctx.tools_allowed and response.tool_calls else []
    reasoning = None
    if response.reasoning or response.reasoning_fields:
        reasoning = reasoning_from_response(response, calls)
    append_reply(ctx, Message("assistant", response.text, calls, reasoning=reasoning))
    if response.reasoning:
        emit_reasoning(ctx, response)
    ctx.pending = calls.copy()
    if calls:
        # The text is in the messages now: it counts as an earlier text, no longer as the streamed part of a reply.
        if ctx.streamed_chunks:
            ctx.streamed_chunks = []
        # So that clients can show it where it belongs; a step is silent.
        if response.text.strip() and not ctx.depth and ctx.has_listeners:
            ctx.emit(MessageAdded(message_id=reply_id(ctx), role="assistant", content=response.text))
    if len(calls) > 1:
        # A repeated call stays in the transcript, and does not run: AgenticLoop gives it the result of the first.
        repeated = find_repeated_calls(response.tool_calls)
        ctx.pending = [call for position, call in enumerate(calls) if position not in repeated]
    reason = response.finish_reason if calls or response.finish_reason != "tool_calls" else "stop"
    ctx.response = Response(response.text, reason, tool_calls=calls)


def _with_unique_ids(ctx: Context, calls: list[ToolCall], turn_state: _InvokerState) -> list[ToolCall]:
    """Give calls unique ids: the journal is keyed by id, and some providers send none, or repeat them in one reply or
    in every reply.
    """
    used = turn_state.used_ids
    if used is None:
        used = {call.id for message in ctx.messages[ctx.recorded :] for call in message.tool_calls}
        turn_state.used_ids = used
    own: list[ToolCall] = []
    for call in calls:
        if not call.id or call.id in used:
            call = call.with_id(f"call_{ctx.services.clock.new_id()}")
        used.add(call.id)
        own.append(call)
    return own


def find_repeated_calls(calls: Sequence[ToolCall]) -> set[int]:
    """Return the positions of the calls of a reply that repeat an earlier one in id, name and arguments.

    Calls without an id repeat none, because nothing says that they are the same.
    """
    seen: set[tuple[str, str, bytes]] = set()
    repeated: set[int] = set()
    for position, call in enumerate(calls):
        identity = (call.id, call.name, call.canonical_arguments())
        if call.id and identity in seen:
            repeated.add(position)
        seen.add(identity)
    return repeated


def _remove_malformed(ctx: Context, start: int) -> None:
    """Raise ChainError for a message that no provider takes. It is taken out: stored, it would fail each later turn."""
    for index in range(start, len(ctx.messages)):
        try:
            check_message(ctx.messages[index])
        except ChainError:
            del ctx.messages[index]
            raise


def _repair(ctx: Context, turn_state: _InvokerState) -> None:
    """Validate and repair the messages that are new since the last call; stored history was repaired when it was
    loaded.
    """
    start = turn_state.validated
    if not is_valid_transcript(ctx.messages, start):
        ctx.messages[start:] = repair_transcript(ctx.messages, start)
    turn_state.validated = len(ctx.messages)
