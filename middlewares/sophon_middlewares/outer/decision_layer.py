"""Decision layer: answers a message by one tool call where a rule can, and asks back where it says too little."""

from collections.abc import Awaitable, Mapping
from typing import Any, ClassVar

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.decisions import decide, is_low_intent
from sophon.decisions.fast_paths import FastPath, fast_path
from sophon.events import DecisionMade
from sophon.extensions import Key
from sophon.messages import Message, Response, ToolCall, ToolResult
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.tools.untrusted_text import unfence_text
from sophon.turn_permissions import filter_permitted
from sophon_middlewares.outer.planning import NO_PLAN

ASK_BACK = "What would you like me to do? Please say a little more."
"""Reply to a message that says too little."""

_PATH: Key[list[Any]] = Key("decision.fast_path", dump=list, load=list)
"""Tool and arguments of the turn's fast path."""

_DECIDED: Key[bool] = Key("decision.made", dump=bool, load=bool)


class DecisionLayer:
    """Decides by rules alone what kind of work a message is; the decision is an event.

    The first message of a conversation that says too little is answered with a question. A message that one tool
    call answers (a fast path) is answered by its result, without a model: the call goes through guards and approval
    like any other, and a call that fails or is denied is left to the model, as is a message whose tool is absent or
    not permitted. Any other message goes on unchanged. Source: reference/wasp.md 4.8, 4.9, 4.14.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Budget", "CapabilityRouting", "ContextWindow", "ToolFilter", "PromptToolBridge")
    before = ("Planning", "AgenticLoop", "LlmInvoker")
    acts: ClassVar[Mapping[str, str]] = {
        "turn": "decides by rules what kind of work the message is; asks back where it says too little",
        "model call": "answers itself where one tool call answers the message",
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.depth and not ctx.get(_DECIDED):
            ctx.put(_DECIDED, True)
            if is_low_intent(ctx.text) and ctx.stored_count <= 1:
                ctx.emit(DecisionMade(strategy="direct", low_intent=True))
                ctx.messages.append(Message("assistant", ASK_BACK))
                ctx.response = Response(ASK_BACK, "stop")
                return
            _decide(ctx)
        path = ctx.get(_PATH)
        if path is None:
            await next(ctx)
            return
        ctx.put(NO_PLAN, True)
        layer = FastPathLayer(ctx, FastPath(path[0], path[1]))
        with ctx.call_layer(layer), ctx.result_hook(layer.note_result):
            await next(ctx)


def _decide(ctx: Context) -> None:
    path = fast_path(ctx.text)
    if path is not None and _offer(ctx, path.tool):
        ctx.put(_PATH, [path.tool, dict(path.arguments)])
    else:
        path = None
    decided = decide(ctx.text)
    fast = "" if path is None else path.tool
    ctx.emit(DecisionMade(strategy=decided.strategy, fast_path=fast, hits=dict(decided.hits)))


def _offer(ctx: Context, name: str) -> bool:
    """Offer a tool to the turn; return whether there is one that the principal may use."""
    tool = ctx.services.registry.get(name)
    if tool is None or not filter_permitted(ctx, [tool]):
        return False
    # A list is the tool filter's selection; otherwise all tools are offered already.
    if isinstance(ctx.tools, list) and tool not in ctx.tools:
        ctx.tools.append(tool)
    return True


class FastPathLayer:
    """Call layer of a turn with a fast path: stands for the model that asks for the tool, and then tells its result.

    A result that is an error or a denial is left to the model, which sees the call in the messages.
    """

    __slots__ = ("_call_id", "_ctx", "_path", "_succeeded")

    def __init__(self, ctx: Context, path: FastPath) -> None:
        self._ctx, self._path = ctx, path
        self._call_id = f"fast:{ctx.run_id}"
        self._succeeded = False

    def note_result(self, ctx: Context, call: ToolCall, result: ToolResult) -> None:
        """Note whether the call has a result that answers the message."""
        if call.id == self._call_id:
            self._succeeded = result.outcome == "completed"

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        last = request.messages[-1]
        if last.role == "user" and not self._ctx.iteration:
            return _respond(ModelResponse("", [ToolCall(self._call_id, self._path.tool, self._path.arguments)]))
        if last.tool_call_id != self._call_id or not self._succeeded:
            return call(request)
        text = unfence_text(last.content)
        if request.on_text is not None:
            request.on_text(text)
        return _respond(ModelResponse(text))


async def _respond(response: ModelResponse) -> ModelResponse:
    return response
