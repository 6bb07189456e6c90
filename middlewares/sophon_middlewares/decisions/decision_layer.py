"""Decision layer: answers a message by one tool call where a rule can, and asks back where it says too little."""

import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.decisions import Decided, decide, is_low_intent
from sophon.decisions.fast_paths.fast_path_tools import find_tool, fit_arguments
from sophon.decisions.fast_paths.fast_paths import FastPath, find_family
from sophon.decisions.low_intent import ask_back
from sophon.decisions.work_strategy import Strategy
from sophon.events import DecisionMade
from sophon.extensions import Key
from sophon.messages import Message, Response, ToolCall, ToolResult
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.tools.tool import Tool
from sophon.tools.untrusted_text import unfence_text
from sophon.turn.permissions import filter_permitted
from sophon.turn.provenance import is_of_program
from sophon_middlewares.outer.planning.planning import MUST_PLAN, NO_PLAN
from sophon_middlewares.tool_calls.fast_path_call import FAST_PATH

log = logging.getLogger("sophon")

_HINT: Key[str] = Key("decision.hint", dump=str, load=str)
"""What the model is told about the strategy."""

_DECIDED: Key[bool] = Key("decision.made", dump=bool, load=bool)

GOAL_TOOL: Final = "goals.create"
"""Tool that takes a message of the strategy `goal`, where it exists; elsewhere the message is planned."""

HINT_TOOLS: Final[Mapping[Strategy, Sequence[str]]] = {
    "scheduled_task": ("schedules.add", "schedules.list", "schedules.remove"),
    "sub_agent": ("agents.run", "agents.list"),
    "script": ("system.execute", "files.write"),
}
"""Tools that a strategy is worked on with, where they exist. Source: WASP, routing hints."""

_WHAT: Final[Mapping[Strategy, str]] = {
    "scheduled_task": "asks for something at a time or again and again",
    "sub_agent": "asks for an agent that works on its own",
    "script": "asks for a script or for the processing of data",
}

_INSTEAD: Final = "No tool for it is available: say so, and do what can be done now."


class DecisionLayer:
    """Decides by rules alone what kind of work a message is (`Decisions`); the decision is an event.

    The first message of a conversation that says too little is answered with a question. A message that one tool
    call answers (a fast path) is answered by its result, without a model: the call goes through guards and approval
    like any other, and a call that fails or is denied is left to the model, as is a message whose tool is absent or
    not permitted. A goal goes to the tool `goals.create` in the same way, and without that tool to Planning. For
    other strategies the model is told which tools suit them. A text that the program wrote, that is forwarded, or
    that comes from a schedule has none of these. Whatever fails here leaves the message to the chain. Source:
    WASP, Decision Layer, fast paths, policy guards.
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
    if is_of_program(ctx) or ctx.tally.untrusted_sources:
        ctx.emit(DecisionMade(strategy="direct"))
        return
    if is_low_intent(ctx.text) and ctx.stored_count <= 1:
        ctx.emit(DecisionMade(strategy="direct", low_intent=True))
        question = ask_back(ctx.text)
        ctx.messages.append(Message("assistant", question))
        ctx.response = Response(question, "stop")
        return
    decided = decide(ctx.text)
    path = _find_path(ctx)
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


def _find_path(ctx: Context) -> FastPath | None:
    """Return the call that answers the message: of the tool of its family, or of one that is tagged to do the same."""
    found = find_family(ctx.text, ctx.settings.decisions.families)
    if found is None:
        return None
    family, arguments = found
    tool = find_tool(family, filter_permitted(ctx, ctx.services.registry))
    fitted = None if tool is None else fit_arguments(tool, arguments)
    return None if tool is None or fitted is None else FastPath(tool.name, fitted)


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
    if decided.strategy == "direct":
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


class HintLayer:
    """Call layer that puts a note in front of the last message of the person; nothing of it is stored."""

    __slots__ = ("_note",)

    def __init__(self, hint: str) -> None:
        self._note = Message("system", hint)

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        messages = list(request.messages)
        last = max((index for index, each in enumerate(messages) if each.role == "user"), default=len(messages))
        messages.insert(last, self._note)
        return call(request.copy_with(messages=messages))


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
        text = write_answer(self._path.tool, unfence_text(last.content))
        if request.on_text is not None:
            request.on_text(text)
        return _respond(ModelResponse(text))


def write_answer(tool: str, result: str) -> str:
    """Return the answer of a fast path: the result of its tool; of a goal and of a list of schedules, which are JSON
    for a model, a sentence and a line for each.
    """
    write = _WRITERS.get(tool)
    if write is None:
        return result
    try:
        found, end = json.JSONDecoder().raw_decode(result)
        return write(found) + result[end:]  # a guard may have added a note
    except (ValueError, KeyError, TypeError):
        return result


def _write_goal(goal: Any) -> str:
    return f"This is a goal now: {goal['title']} ({goal['goal']}). I work on it in the background and report here."


def _write_schedules(rows: Any) -> str:
    notes = ["" if each["state"] == "active" else f", {each['state']}" for each in rows]
    pairs = zip(rows, notes, strict=True)
    return "\n".join(f"- {each['text']}: {each['runs']}{note} ({each['id']})" for each, note in pairs)


_WRITERS: Final[Mapping[str, Callable[[Any], str]]] = {GOAL_TOOL: _write_goal, "schedules.list": _write_schedules}


async def _respond(response: ModelResponse) -> ModelResponse:
    return response


def write_hint(strategy: Strategy, parameters: Mapping[str, str], available: Collection[str]) -> str:
    """Return the hint for a strategy, "" for `direct` and `goal`; it names only tools that are available.

    Of the message it has the interval only, which is one of few phrases: a hint is no place for somebody's words.
    """
    what = _WHAT.get(strategy)
    if what is None:
        return ""
    tools = [name for name in HINT_TOOLS[strategy] if name in available]
    facts = "; ".join(f"{name}: {value}" for name, value in parameters.items() if name == "interval")
    advice = f"Tools for it: {', '.join(tools)}." if tools else _INSTEAD
    return f"[The next message probably {what}{f' ({facts})' if facts else ''}. {advice} The person decides.]"
