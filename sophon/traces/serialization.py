"""Traces as JSON data and back; what has its default is left out of stored ones."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast

from sophon.messages import Usage
from sophon.traces.trace import (
    AgentTrace,
    ApprovalTrace,
    AttemptTrace,
    NoteTrace,
    PromptPart,
    StageTime,
    StartTrace,
    StepTrace,
    ToolTrace,
    Trace,
    VerdictTrace,
)

T = TypeVar("T")

_PARTS: Mapping[str, type[Any]] = {
    "starts": StartTrace,
    "stages": StageTime,
    "attempts": AttemptTrace,
    "tools": ToolTrace,
    "approvals": ApprovalTrace,
    "steps": StepTrace,
    "agents": AgentTrace,
    "prompt": PromptPart,
    "notes": NoteTrace,
    "verdicts": VerdictTrace,
}


def trace_to_json(trace: Trace) -> dict[str, Any]:
    """Return the whole trace, with what has its default, and with the fields that are computed."""
    computed = {"model": trace.model, "fallback_attempts": trace.fallback_attempts}
    return {**_to_json(trace, compact=False), **computed}


def trace_summary_to_json(trace: Trace) -> dict[str, Any]:
    """Return what a list shows of a trace: all but its parts, of which it has the numbers."""
    counts = {f"{name}_count": len(getattr(trace, name)) for name in ("attempts", "tools", "approvals", "steps")}
    return {name: value for name, value in trace_to_json(trace).items() if name not in _PARTS} | counts


def trace_to_stored(trace: Trace) -> dict[str, Any]:
    """Return the trace without what has its default; `trace_from_json` reads it."""
    return _to_json(trace, compact=True)


def trace_from_json(data: Mapping[str, Any]) -> Trace:
    """Parse a trace; unknown fields are ignored. Raises LookupError, TypeError, ValueError."""
    return _from_json(Trace, data)


def _to_json(value: Any, *, compact: bool) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for name, default, is_plain in _layout(cast("type[Any]", type(value))):
        each = getattr(value, name)
        if compact and each == default:
            continue
        data[name] = each if is_plain else _to_plain(each, compact=compact)
    return data


def _to_plain(value: Any, *, compact: bool) -> Any:
    if isinstance(value, tuple):
        parts = cast("tuple[Any, ...]", value)
        return [_to_json(each, compact=compact) for each in parts]
    if isinstance(value, Usage):
        return value.to_json()
    if isinstance(value, datetime):
        return value.isoformat()
    return value


_NOT_PLAIN = frozenset({"usage", "started_at", "ended_at", *_PARTS})


@cache
def _layout(kind: type[Any]) -> tuple[tuple[str, Any, bool], ...]:
    return tuple((each.name, _default(each), each.name not in _NOT_PLAIN) for each in fields(kind))


def _default(each: Field[Any]) -> Any:
    if each.default is not MISSING:
        return each.default
    return each.default_factory() if each.default_factory is not MISSING else MISSING


def _from_json(kind: type[T], data: Mapping[str, Any]) -> T:
    known = {name for name, _, _ in _layout(kind)}
    return kind(**{name: _read(name, value) for name, value in data.items() if name in known})


def _read(name: str, value: Any) -> Any:
    if name in _PARTS:
        return tuple(_from_json(_PARTS[name], each) for each in value)
    if name == "usage":
        return Usage.from_json(value)
    if name in ("started_at", "ended_at"):
        return datetime.fromisoformat(value)
    return value
