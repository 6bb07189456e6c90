"""Comparison of a turn with its replay, as JSON for the API, the page and the command line."""

from collections.abc import Callable, Mapping
from typing import Any

from sophon.traces.serialization import trace_to_json
from sophon.traces.trace import Trace
from sophon_hosting.features.traces.replay.recorded_turn import RecordedTurn
from sophon_hosting.features.traces.replay.turn_replay import ReplayedTurn

CHARGED = (
    "The model calls of this replay were charged to your budget and count in the totals of usage. Nothing else "
    "changed: no tool ran, and nothing was written to the conversation, the memory or what routing has learned."
)

ROUTE_NOTES = frozenset({"route_chosen", "decision", "model_fallback", "provider_excluded"})
"""Kinds of notes that say how a model was chosen."""


def compare(
    turn: RecordedTurn, replayed: ReplayedTurn, view: Callable[[Trace], Trace] = lambda trace: trace
) -> dict[str, Any]:
    """Return both turns side by side; `view` is the trace as the reader may see it."""
    original = None if turn.trace is None else view(turn.trace)
    return {
        "task_id": turn.run_id,
        "message": turn.message.content,
        "original": {"answer": turn.answer, "chain": None, **_describe(original)},
        "replay": {
            "answer": replayed.answer,
            "chain": replayed.chain,
            "asked": list(replayed.asked),
            "reused": replayed.reused,
            "missing": replayed.missing,
            **_describe(view(replayed.trace)),
        },
        "charged": CHARGED,
    }


def _describe(trace: Trace | None) -> Mapping[str, Any]:
    """Return what is compared of a trace; nulls for a turn that has none any more."""
    if trace is None:
        empty = dict.fromkeys(("model", "usage", "working_ms", "status", "finish_reason", "error", "trace"))
        return {**empty, "tools": [], "routes": []}
    data = trace_to_json(trace)
    return {
        "model": data["model"],
        "usage": data["usage"],
        "working_ms": data["working_ms"],
        "status": data["status"],
        "finish_reason": data["finish_reason"],
        "error": data["error"],
        "tools": data["tools"],
        "routes": [each for each in data["notes"] if each["kind"] in ROUTE_NOTES],
        "trace": data,
    }
