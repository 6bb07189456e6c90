"""Decision layer: answers a message by one tool call where a rule can, and asks back where it says too little."""

import logging
from collections.abc import Mapping
from typing import Any, ClassVar

from sophon.chain.pipeline import Next, Pipeline
from sophon.context import Context
from sophon.decisions import Decided, decide, is_low_intent
from sophon.decisions.fast_paths import FastPath, fast_path
from sophon.events import DecisionMade
from sophon.extensions import Key
from sophon.messages import Message, Response
from sophon.schedules.turn_mark import SCHEDULE
from sophon.tools.tool import Tool
from sophon.turn_permissions import filter_permitted
from sophon_middlewares.inner.fast_path_call import FAST_PATH
from sophon_middlewares.outer.decision_call_layers import GOAL_TOOL, FastPathLayer, HintLayer
from sophon_middlewares.outer.insertion import insert_in_front
from sophon_middlewares.outer.plan.plan_decision import MUST_PLAN
from sophon_middlewares.outer.planning import NO_PLAN
from sophon_middlewares.outer.strategy_hints import HINT_TOOLS, write_hint

log = logging.getLogger("sophon")

ASK_BACK = "What would you like me to do? Please say a little more."
"""Reply to a message that says too little."""

PROGRAM_CHANNELS = frozenset({"schedule", "heartbeat", "goal", "agent", "webhook"})
"""Channels of turns that the program itself starts; no rule acts on their texts."""

_HINT: Key[str] = Key("decision.hint", dump=str, load=str)
"""What the model is told about the strategy."""

_DECIDED: Key[bool] = Key("decision.made", dump=bool, load=bool)


class DecisionLayer:
    """Decides by rules alone what kind of work a message is (`Decisions`); the decision is an event.

    The first message of a conversation that says too little is answered with a question. A message that one tool
    call answers (a fast path) is answered by its result, without a model: the call goes through guards and approval
    like any other, and a call that fails or is denied is left to the model, as is a message whose tool is absent or
    not permitted. A goal goes to the tool `goals.create` in the same way, and without that tool to Planning. For
    other strategies the model is told which tools suit them. A text that the program wrote, that is forwarded, or
    that comes from a schedule has none of these. Whatever fails here leaves the message to the chain. Source:
    reference/wasp.md 4.8, 4.9, 4.14.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Budget", "ToolFilter", "ToolSplit", "ToolsOnDemand")
    before = ("Planning", "AgenticLoop", "LlmInvoker")
    acts: ClassVar[Mapping[str, str]] = {
        "turn": "decides by rules what kind of work the message is; asks back where it says too little",
        "model call": "answers itself where one tool call answers the message; else says which tools suit it",
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.depth and not ctx.get(_DECIDED):
            ctx.put(_DECIDED, True)
            _decide_safely(ctx)
            if ctx.response is not None:
                return
        path, hint = ctx.get(FAST_PATH), ctx.get(_HINT)
        if path is not None:
            ctx.put(NO_PLAN, True)
            layer = FastPathLayer(ctx, FastPath(path[0], path[1]))
            with ctx.call_layer(layer), ctx.result_hook(layer.note_result):
                await next(ctx)
        elif hint:
            with ctx.call_layer(HintLayer(hint), overhead=lambda _: hint):
                await next(ctx)
        else:
            await next(ctx)


def _decide_safely(ctx: Context) -> None:
    try:
        _decide(ctx)
    except Exception:
        log.exception("the decision layer failed on run %s, which goes on without it", ctx.run_id)
        ctx.response = None
        ctx.extensions.values.pop(FAST_PATH.name, None)


def _decide(ctx: Context) -> None:
    settings = ctx.settings.decisions
    if ctx.channel in PROGRAM_CHANNELS or ctx.get(SCHEDULE) is not None or ctx.tally.untrusted_sources:
        ctx.emit(DecisionMade(strategy="direct"))
        return
    if settings.low_intent and is_low_intent(ctx.text) and ctx.stored_count <= 1:
        ctx.emit(DecisionMade(strategy="direct", low_intent=True))
        ctx.messages.append(Message("assistant", ASK_BACK))
        ctx.response = Response(ASK_BACK, "stop")
        return
    decided = decide(ctx.text, settings.rules)
    path = fast_path(ctx.text, settings.rules)
    if path is None and decided.strategy == "goal":
        path = _goal_call(ctx)
    tool = None if path is None else _offer(ctx, path.tool)
    if path is not None and tool is not None:
        ctx.put(FAST_PATH, [path.tool, dict(path.arguments)])
    else:
        path = None
        _advise(ctx, decided)
    fast = "" if path is None else path.tool
    ctx.emit(DecisionMade(strategy=decided.strategy, fast_path=fast, hits=dict(decided.hits)))


def _goal_call(ctx: Context) -> FastPath | None:
    """Return the call that makes the message a goal; None without the tool, or if it needs more than the text."""
    tool = ctx.services.registry.get(GOAL_TOOL)
    if tool is None:
        return None
    required: list[str] = list(tool.parameters.get("required") or ())
    wanted = [name for name in ("description", "goal", "text", "objective") if name in tool.schema.names]
    missing = [name for name in required if name not in (*wanted[:1], "title", "name")]
    if not wanted or missing:
        return None
    title: dict[str, Any] = {name: ctx.text.strip()[:80] for name in ("title", "name") if name in required}
    return FastPath(GOAL_TOOL, {wanted[0]: ctx.text, **title})


def _advise(ctx: Context, decided: Decided) -> None:
    """Leave what the strategy means for the rest of the chain: a plan for a goal, a hint for the model."""
    if decided.strategy == "goal":
        ctx.put(MUST_PLAN, True)
        return
    if decided.strategy == "direct" or not ctx.settings.decisions.hints:
        return
    available = [name for name in HINT_TOOLS[decided.strategy] if _offer(ctx, name) is not None]
    if hint := write_hint(decided.strategy, decided.parameters, available):
        ctx.put(_HINT, hint)


def _offer(ctx: Context, name: str) -> Tool | None:
    """Offer a tool to the turn; return None if there is none that the principal may use."""
    tool = ctx.services.registry.get(name)
    if tool is None or not filter_permitted(ctx, [tool]):
        return None
    # A list is the tool filter's selection; otherwise all tools are offered already.
    if isinstance(ctx.tools, list) and tool not in ctx.tools:
        ctx.tools.append(tool)
    return tool


def add_decisions(chain: Pipeline) -> Pipeline:
    """Return the chain with DecisionLayer in front of Planning, or of the inner zone; one that has it unchanged."""
    return insert_in_front(chain, DecisionLayer())
