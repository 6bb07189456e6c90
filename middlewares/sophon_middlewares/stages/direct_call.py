"""Direct call: a turn that is one tool call of a client instead of a model, with everything that guards a call."""

from collections.abc import Mapping
from typing import Any

from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.pipeline import Middleware, Next, Pipeline
from sophon.context import Context
from sophon.errors import ChainError, CompositionError
from sophon.extensions import Key
from sophon.messages import Message, Response, ToolCall
from sophon_middlewares.inner.agentic_loop.agentic_loop import AgenticLoop
from sophon_middlewares.inner.llm_invoker.reply import append_reply
from sophon_middlewares.inner.tool_execution import ToolExecution

OUTCOME_FIELD = "tool_outcome"
"""Key, in the detail of the response, of the outcome of the call (`sophon.messages.ToolCallOutcome`)."""

LEFT_OUT = frozenset(
    {
        *("CapabilityRouting", "ContextWindow", "Assembler", "Memory", "Skills", "ToolFilter", "PromptToolBridge"),
        *("Agents", "Planning", "ReplyRedaction", "Classification", "Learning", "Scoring", "DecisionLayer"),
        *("Preferences", "TextOnly", "RequestBudget", "IntentGate", "UrlOutcomes", "ResponseValidator"),
        "ActionAnnouncer",
    }
)
"""Middlewares that prepare, change or judge what a model is asked; they guard no tool call. All others stay.

IntentGate looks for the wish of a person in their words; who makes a call directly has said it.
"""


def _call_to_json(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}


def _call_from_json(data: Mapping[str, Any]) -> ToolCall:
    return ToolCall(data["id"], data["name"], data["arguments"])


DIRECT_CALL: Key[ToolCall] = Key("direct_call", dump=_call_to_json, load=_call_from_json)
"""The call of a turn that asks no model."""


class DirectCall:
    """Takes the place of the model: its reply is the turn's `DIRECT_CALL`. Raises ChainError without one."""

    zone = "inner"
    terminal = True
    unique = True
    provides = ("LlmInvoker",)
    acts: Mapping[str, str] = {"turn": "makes the client's tool call; asks no model"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        call = ctx.get(DIRECT_CALL)
        if call is None or ctx.settling:
            raise ChainError("a chain of direct calls runs turns with a DIRECT_CALL only, and needs ToolExecution()")
        append_reply(ctx, Message("assistant", "", [call]))
        ctx.pending = [call]
        ctx.response = Response("", "tool_calls", tool_calls=[call])


class DirectResult:
    """Ends the turn with the result of its call; a guard or a person that ended it before is not overruled."""

    zone = "inner"
    unique = True
    calls_next = True
    settling_only = True
    after = ("AgenticLoop",)
    before = ("ParallelExecution", "Approval", "ToolExecution")
    acts: Mapping[str, str] = {"tool call": "its result is the answer of the turn"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await next(ctx)
        call = ctx.get(DIRECT_CALL)
        result = ctx.results.get(call.id) if call is not None else None
        if result is not None and ctx.response is None:
            ctx.response = Response(result.text, "stop", detail={OUTCOME_FIELD: result.outcome})


def build_direct_chain(chain: Pipeline) -> Pipeline:
    """Return the chain that runs one tool call with all that `chain` has around a call, and asks no model.

    `LEFT_OUT` and the terminal are left out; guards, approval, limits and whatever else the chain has stay in their
    order. Raises CompositionError for a chain that runs no tools.
    """
    kept: list[Middleware] = []
    for each in chain:
        if _is_left_out(each):
            continue
        kept.append(each)
        if isinstance(each, AgenticLoop):
            kept.append(DirectResult())
    if not any(isinstance(each, DirectResult) for each in kept) or not any(isinstance(e, ToolExecution) for e in kept):
        raise CompositionError("the chain of this host runs no tools: it has no AgenticLoop with ToolExecution")
    return type(chain).compose(*kept, DirectCall())


def _is_left_out(middleware: Middleware) -> bool:
    names = {each.__name__ for each in type(middleware).__mro__} | {get_middleware_name(middleware)}
    return bool(getattr(middleware, "terminal", False)) or not LEFT_OUT.isdisjoint(names)
