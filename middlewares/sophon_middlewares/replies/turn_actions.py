"""The actions of a turn, those of its plan steps included, as the stages of a reply see them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sophon.context import Context
from sophon.decisions.actions_taken import Action, find_outcome, first_line, only_reads
from sophon.extensions import Key
from sophon.messages import Message, Response
from sophon.risk import Risk
from sophon.tools.registry import ToolRegistry
from sophon.tools.untrusted_text import unfence_text
from sophon_middlewares.tool_calls.recent_tools import list_recent_tools

ANSWERED: Final = frozenset({"stop", "length"})
"""Finish reasons of a reply that a model gave as its answer; refusals and ends by a limit speak for themselves."""

_STEP_ACTIONS: Key[dict[str, list[Any]]] = Key("replies.step_actions", dump=dict, load=dict)
"""Actions of finished plan steps by call id: tool, arguments, outcome, detail, effects."""


def has_answer(ctx: Context) -> bool:
    """Return whether the turn has a reply that may be judged; a plan step has none."""
    return not ctx.depth and ctx.response is not None and ctx.response.finish_reason in ANSWERED


def note_step_actions(ctx: Context) -> None:
    """Leave the actions of a plan step with the turn."""
    root = ctx.root
    earlier = root.get(_STEP_ACTIONS) or {}
    noted = {**earlier}
    for call_id, action in _read_actions(ctx.messages, ctx.services.registry):
        noted[f"{ctx.run_id}/{call_id}"] = [*_to_plain(action)]
    root.put(_STEP_ACTIONS, noted)


def list_actions(ctx: Context) -> list[Action]:
    """Return the actions of the turn in order, those of plan steps first."""
    steps = [_from_plain(each) for each in (ctx.get(_STEP_ACTIONS) or {}).values()]
    return [*steps, *(action for _, action in _read_actions(turn_messages(ctx), ctx.services.registry))]


def list_results(ctx: Context) -> list[str]:
    """Return what the tools of the turn returned."""
    steps = [str(each[3]) for each in (ctx.get(_STEP_ACTIONS) or {}).values()]
    return [*steps, *(unfence_text(each.content) for each in turn_messages(ctx) if each.role == "tool")]


def turn_messages(ctx: Context) -> Sequence[Message]:
    """Return the messages of the present turn: those behind the last message of the person."""
    return ctx.messages[_find_start(ctx.messages) :]


def list_earlier_tools(ctx: Context) -> set[str]:
    """Return the tools that earlier turns of the conversation have used with success."""
    return list_recent_tools(ctx.messages[: _find_start(ctx.messages)])


def _find_start(messages: Sequence[Message]) -> int:
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user" and not messages[index].origin:
            return index + 1
    return 0


def replace_text(ctx: Context, response: Response, text: str) -> None:
    """Give the response another text, also in the messages, if it is different."""
    if text == response.text:
        return
    last = ctx.messages[-1] if ctx.messages else None
    if last is not None and last.role == "assistant" and not last.tool_calls:
        ctx.messages[-1] = Message("assistant", text, reasoning=last.reasoning)
    ctx.response = response.copy_with(text=text)


def _read_actions(messages: Sequence[Message], registry: ToolRegistry) -> Iterator[tuple[str, Action]]:
    results = {each.tool_call_id: each for each in messages if each.role == "tool"}
    for message in messages:
        for call in message.tool_calls:
            result = results.get(call.id)
            if result is None:
                continue
            text, tool = unfence_text(result.content), registry.get(call.name)
            outcome = find_outcome(text, is_denied=result.origin == "denied")
            effects = tool is not None and tool.risk >= Risk.MEDIUM and not only_reads(call.name)
            yield call.id, Action(call.name, dict(call.arguments), outcome, first_line(text), effects)


def _to_plain(action: Action) -> Sequence[Any]:
    return action.tool, dict(action.arguments), action.outcome, action.detail, action.has_effects


def _from_plain(data: Sequence[Any]) -> Action:
    arguments: Mapping[str, Any] = data[1]
    return Action(data[0], arguments, data[2], data[3], data[4])
