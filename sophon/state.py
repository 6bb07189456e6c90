"""A turn written out as plain data and read back: what suspend, resume and crash recovery share."""

from collections.abc import Mapping
from datetime import datetime
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args

from sophon.approvals import Grant
from sophon.context import Context, Step, Tally
from sophon.errors import StateError
from sophon.extensions import Extensions
from sophon.messages import Message, Role, ToolCall, ToolResult, Usage
from sophon.places import Places
from sophon.stopwatch import Stopwatch
from sophon.stores.contracts import Compaction
from sophon.tools.tool import Risk

if TYPE_CHECKING:
    from sophon.services import Services

FACTS: Mapping[str, tuple[type, ...]] = {
    "run_id": (str,),
    "session_id": (str,),
    "text": (str,),
    "principal": (str,),
    "channel": (str,),
    "stream": (bool,),
    "model": (str, NoneType),
    "planning": (str, NoneType),
    "depth": (int,),
}
COUNTERS: Mapping[str, tuple[type, ...]] = {"recorded": (int,), "iteration": (int,), "epoch": (int,)}
"""Never negative, as the depth."""
STATE_VERSION = 1
ROLES = get_args(Role)


def dump_state(ctx: Context) -> dict[str, Any]:
    """Facts and working state of a turn; what is set up anew on a resume is left out."""
    state: dict[str, Any] = {"version": STATE_VERSION}
    ctx.recorded_upto()
    for name in (*FACTS, *COUNTERS):
        state[name] = getattr(ctx, name)
    state["started_at"] = ctx.started_at.isoformat() if ctx.started_at else None
    state["step"] = _step_to_json(ctx.step)
    state["messages"] = [message.to_json() for message in ctx.messages]
    state["tools"] = [tool.name for tool in ctx.tools] if ctx.tools is not ctx.services.registry.tools else None
    state["pending"] = [call.to_json() for call in ctx.pending]
    state["results"] = [result.to_json() for result in ctx.results.values()]
    state["grants"] = {call: {"digest": grant.digest, "edited": grant.edited} for call, grant in ctx.grants.items()}
    state["active_seconds"] = ctx.watch.seconds
    state["tally"] = {
        "usage": ctx.tally.usage.to_json(),
        "metered": ctx.tally.metered.to_json(),
        "model_calls": ctx.tally.model_calls,
        "tool_calls": ctx.tally.tool_calls,
    }
    if ctx.compaction is not None:
        state["compaction"] = {"summary": ctx.compaction.summary.to_json(), "covers": ctx.compaction.covers}
    state["extensions"] = ctx.extensions.to_json()
    return state


def _step_to_json(step: Step | None) -> Mapping[str, Any] | None:
    if step is None:
        return None
    risk = step.approved_risk.label if step.approved_risk is not None else None
    return {
        "id": step.id,
        "tool_hints": list(step.tool_hints),
        "model_hint": step.model_hint,
        "approved_risk": risk,
    }


def load_state(services: "Services", state: Mapping[str, Any]) -> Context:
    """The inverse of `dump_state`, over the services of this process.

    A tool that no longer exists is left out of what is offered. Raises StateError.
    """
    if not isinstance(state, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - what was read from JSON is anything
        raise StateError(f"this state is no object but {type(state).__name__}")
    if state.get("version") != STATE_VERSION:
        raise StateError(f"this state is of version {state.get('version')!r}; this program reads {STATE_VERSION}")
    try:
        ctx = Context(
            services=services,
            watch=Stopwatch(services.clock, float(state["active_seconds"])),
            places=Places(services.settings.tools.max_parallel),
            **_checked(state),
            started_at=datetime.fromisoformat(state["started_at"]) if state["started_at"] else None,
            step=_step_from_json(state["step"]),
            resumed=True,
            observed=services.observed,
            messages=[_message(message) for message in state["messages"]],
            tools=_tools(services, state["tools"]),
            pending=[ToolCall.from_json(call) for call in state["pending"]],
            results={result["call_id"]: ToolResult.from_json(result) for result in state["results"]},
            grants={call: Grant(grant["digest"], grant["edited"]) for call, grant in state["grants"].items()},
            tally=_tally(state["tally"]),
            extensions=Extensions.from_json(dict(state["extensions"])),
        )
        if "compaction" in state:
            kept = state["compaction"]
            ctx.compaction = Compaction(_message(kept["summary"]), int(kept["covers"]))
        ctx.mark_recorded(min(ctx.recorded, len(ctx.messages)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StateError(f"this state cannot be read: {type(error).__name__}: {error}") from error
    return ctx


def _checked(state: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, kinds in (*FACTS.items(), *COUNTERS.items()):
        value = state[name]
        if type(value) not in kinds or (int in kinds and value < 0):
            raise ValueError(f"{name} is {value!r}")
        values[name] = value
    return values


def _message(data: Mapping[str, Any]) -> Message:
    message = Message.from_json(data)
    if message.role not in ROLES or type(message.content) is not str:
        raise ValueError(f"{message.role!r} with {type(message.content).__name__} is no message")
    return message


def _tools(services: "Services", names: list[str] | None) -> Any:
    if names is None:
        return services.registry.tools
    return [tool for name in names if (tool := services.registry.get(name)) is not None]


def _tally(data: Mapping[str, Any]) -> Tally:
    return Tally(
        Usage.from_json(data["usage"]), Usage.from_json(data["metered"]), data["model_calls"], data["tool_calls"]
    )


def _step_from_json(data: Mapping[str, Any] | None) -> Step | None:
    if data is None:
        return None
    risk = Risk.parse(data["approved_risk"]) if data["approved_risk"] is not None else None
    return Step(data["id"], tuple(data["tool_hints"]), data["model_hint"], risk)
