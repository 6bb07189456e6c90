"""Serialisation of a turn to JSON data and back: the format that suspend, resume and crash recovery share."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import NoneType
from typing import Any, cast, get_args

from sophon.approvals import Grant
from sophon.context.message_list import MessageList
from sophon.context.state import Step, Tally, TurnState, UsageCounts, unrecorded_from_json, unrecorded_to_json
from sophon.errors import StateError
from sophon.extensions import Extensions
from sophon.messages import Compaction, Message, Role, ToolCall, ToolResult, Usage
from sophon.security.information_flow.taint import Taint
from sophon.tools.registry import ToolRegistry
from sophon.tools.tool import Risk, Tool

SCALARS: Mapping[str, tuple[type, ...]] = {
    "run_id": (str,),
    "session_id": (str,),
    "text": (str,),
    "principal": (str,),
    "data_owner": (str,),
    "group": (bool,),
    "channel": (str,),
    "stream": (bool,),
    "model": (str, NoneType),
    "planning": (str, NoneType),
    "max_iterations": (int, NoneType),
    "temperature": (float, NoneType),
    "depth": (int,),
    "recorded": (int,),
    "iteration": (int,),
    "epoch": (int,),
    "resumes": (int,),
}
"""Fields stored as they are, with their types; integers are never negative."""
RECOMPUTED = frozenset(
    {
        "last_recorded",
        "prefix_cache",
        "awaiting_approval",
        "route",
        "excluded_providers",
        "settling",
        "tools_allowed",
        "response",
    }
)
"""Fields of the working state that middlewares set again after a resume, and that are therefore not serialised."""
STATE_VERSION = 1
ROLES = get_args(Role)
MAX_SNAPSHOT_DEPTH = 100
"""Depth in a state up to which states of other turns are looked for: that of a plan's step is 4 deeper than the plan's.

What a model wrote, a call's arguments for example, may be nested much deeper.
"""


class Snapshot(dict[str, Any]):
    """State of a turn that holds the turn's list of messages itself, instead of JSON.

    It holds states of other turns, those of a plan's steps, in the same form. `to_plain` makes JSON of it.
    """


def to_plain(value: Any, depth: int = 0) -> Any:
    """Return a value with plain data, ready for JSON, for each snapshot within it."""
    if isinstance(value, Snapshot):
        messages = [message.to_json() for message in value["messages"]]
        return {**value, "messages": messages, "extensions": to_plain(value["extensions"], depth + 1)}
    if depth >= MAX_SNAPSHOT_DEPTH:
        return value
    if type(value) is dict:
        return {key: to_plain(each, depth + 1) for key, each in cast(Mapping[str, Any], value).items()}
    if type(value) is list:
        return [to_plain(each, depth + 1) for each in cast(Sequence[Any], value)]
    return value


def take_snapshot(turn: TurnState, registry: ToolRegistry, active_seconds: float) -> Snapshot:
    """Return facts and working state of a turn."""
    state = Snapshot({"version": STATE_VERSION})
    turn.count_recorded()
    for name in SCALARS:
        state[name] = getattr(turn, name)
    state["started_at"] = turn.started_at.isoformat() if turn.started_at else None
    state["step"] = _step_to_json(turn.step) if turn.step is not None else None
    state["messages"] = turn.messages
    state["tools"] = [tool.name for tool in turn.tools] if turn.tools is not registry.tools else None
    state["pending"] = [call.to_json() for call in turn.pending]
    state["results"] = [result.to_json() for result in turn.results.values()]
    # Those of calls that have run are needed no more; a long turn may have many.
    state["grants"] = {
        call.id: {"digest": grant.digest, "edited": grant.edited, "decided_by": grant.decided_by}
        for call in turn.pending
        if (grant := turn.grants.get(call.id)) is not None and not grant.standing
    }
    state["active_seconds"] = active_seconds
    state["tally"] = {
        "usage": turn.tally.usage.to_json(),
        "metered": turn.tally.metered.to_usage().to_json(),
        "unrecorded": unrecorded_to_json(turn.tally.unrecorded),
        "model_calls": turn.tally.model_calls,
        "tool_calls": turn.tally.tool_calls,
        "tool_rounds": turn.tally.tool_rounds,
        "fallback_attempts": turn.tally.fallback_attempts,
        "capped_calls": dict(turn.tally.capped_calls),
        "untrusted_sources": list(turn.tally.untrusted_sources),
        "taint": turn.tally.taint.to_json(),
        "model": turn.tally.model,
    }
    if turn.compaction is not None:
        state["compaction"] = {"summary": turn.compaction.summary.to_json(), "covers": turn.compaction.covers}
    state["extensions"] = turn.extensions.to_json()
    return state


def state_from_json(state: Mapping[str, Any], registry: ToolRegistry) -> tuple[dict[str, Any], float]:
    """Return the constructor arguments of a context and the seconds for which the turn has been active.

    The inverse of `take_snapshot` and `to_plain`. A tool that no longer exists is left out of the tools offered. Raises
    StateError.
    """
    if not isinstance(state, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - data read from JSON has any type
        raise StateError(f"the state must be an object, not {type(state).__name__}")
    if state.get("version") != STATE_VERSION:
        raise StateError(f"the state has version {state.get('version')!r}; this program reads version {STATE_VERSION}")
    try:
        return _arguments_from_json(state, registry), float(state["active_seconds"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StateError(f"the state cannot be read: {type(error).__name__}: {error}") from error


def _arguments_from_json(state: Mapping[str, Any], registry: ToolRegistry) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        **_scalars_from_json(state),
        "started_at": datetime.fromisoformat(state["started_at"]) if state["started_at"] else None,
        "step": _step_from_json(state["step"]),
        "messages": messages_from_json(state["messages"]),
        "tools": _tools_by_name(registry, state["tools"]),
        "pending": [ToolCall.from_json(call) for call in state["pending"]],
        "results": {result["call_id"]: ToolResult.from_json(result) for result in state["results"]},
        "grants": {
            call: Grant(grant["digest"], grant["edited"], str(grant["decided_by"]))
            for call, grant in state["grants"].items()
        },
        "tally": _tally_from_json(state["tally"]),
        "extensions": Extensions.from_json(dict(state["extensions"])),
    }
    if "compaction" in state:
        stored = state["compaction"]
        arguments["compaction"] = Compaction(message_from_json(stored["summary"]), int(stored["covers"]))
    return arguments


def _scalars_from_json(state: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, types in SCALARS.items():
        value = state[name]
        if type(value) not in types or (type(value) is int and value < 0):
            raise ValueError(f"{name} is {value!r}")
        values[name] = value
    return values


def messages_from_json(messages: Any) -> MessageList:
    """Return the messages of a state; those of a checkpoint are a list already. Raises ValueError for other data."""
    # The same object, because the builder of the next checkpoint knows what it was.
    return messages if isinstance(messages, MessageList) else MessageList(map(message_from_json, messages))


def message_from_json(data: Mapping[str, Any]) -> Message:
    """Return the message from what `Message.to_json` returned. Raises ValueError for other data."""
    message = Message.from_json(data)
    if message.role not in ROLES or type(message.content) is not str:
        raise ValueError(f"not a message: role {message.role!r}, content of type {type(message.content).__name__}")
    return message


def _tools_by_name(registry: ToolRegistry, names: list[str] | None) -> "tuple[Tool, ...] | list[Tool]":
    if names is None:
        return registry.tools
    return [tool for name in names if (tool := registry.get(name)) is not None]


def _tally_from_json(data: Mapping[str, Any]) -> Tally:
    return Tally(
        Usage.from_json(data["usage"]),
        UsageCounts.from_usage(Usage.from_json(data["metered"])),
        data["model_calls"],
        data["tool_calls"],
        int(data.get("tool_rounds", 0)),
        int(data.get("fallback_attempts", 0)),
        dict(data.get("capped_calls") or {}),
        [str(source) for source in data.get("untrusted_sources", ())],
        Taint.from_json(data.get("taint", ())),
        unrecorded_from_json(data),
        str(data.get("model", "")),
    )


def _step_to_json(step: Step) -> Mapping[str, Any]:
    risk = step.approved_risk.label if step.approved_risk is not None else None
    return {
        "id": step.id,
        "tool_hints": list(step.tool_hints),
        "model_hint": step.model_hint,
        "started_at": step.started_at,
        "approved_risk": risk,
    }


def _step_from_json(data: Mapping[str, Any] | None) -> Step | None:
    if data is None:
        return None
    risk = Risk.parse(data["approved_risk"]) if data["approved_risk"] is not None else None
    return Step(data["id"], tuple(data["tool_hints"]), data["model_hint"], risk, data.get("started_at"))
