"""Results of MCP tool calls, as plain values: from a task of the host to text, structure and whether it is an error."""

from collections.abc import Mapping
from typing import Any

from sophon.lazy_dataclass import dataclass

ASK_AGENT = "ask_agent"
"""Name of the tool that runs a turn of the agent."""

TURN_TOOLS = frozenset({"load_tools", "load_skills"})
"""Tools that only change what the rest of a turn may use, and so do nothing in a call of their own."""

ASK_AGENT_INPUT: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "minLength": 1, "description": "What to ask or tell the agent."},
        "session": {"type": "string", "minLength": 1, "description": "Session to continue; a new one without it."},
    },
    "required": ["message"],
    "additionalProperties": False,
}

ASK_AGENT_OUTPUT: Mapping[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("text", "finish_reason", "session_id", "task_id")},
    "required": ["text", "finish_reason", "session_id", "task_id"],
}

ANSWERED = frozenset({"stop", "length", "max_iterations"})
"""Finish reasons with which a turn has an answer."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """Result of a call; `structured` is None for a tool without an output schema."""

    text: str
    is_error: bool
    structured: Mapping[str, Any] | None = None


def result_of_call(task: Mapping[str, Any]) -> CallResult:
    """Return the result of a tool call from its finished task: an error unless the call completed."""
    return CallResult(_text_of(task), task.get("tool_outcome") != "completed")


def result_of_turn(task: Mapping[str, Any]) -> CallResult:
    """Return the result of `ask_agent` from its finished task: an error unless the turn has an answer."""
    reason = str(task.get("finish_reason") or task["status"])
    text = _text_of(task)
    structured = {"text": text, "finish_reason": reason, "session_id": task["session_id"], "task_id": task["task_id"]}
    return CallResult(text, reason not in ANSWERED, structured)


def _text_of(task: Mapping[str, Any]) -> str:
    if task.get("error"):
        return str(task["error"]["message"])
    if task["status"] == "cancelled":
        return str(task.get("answer") or "the task was cancelled")
    return str(task.get("answer") or "")
