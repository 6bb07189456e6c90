"""Progress of a task as sentences for the person at an MCP client."""

from collections.abc import Mapping
from typing import Any

MAX_TEXT_CHARACTERS = 300


def describe_progress(event: str, data: Mapping[str, Any]) -> str | None:
    """Return what an event of a task says about its progress in one line; None if it says nothing."""
    text = _describe(event, data)
    return None if text is None else " ".join(text.split())[:MAX_TEXT_CHARACTERS]


def _describe(event: str, data: Mapping[str, Any]) -> str | None:
    match event:
        case "task_queued":
            return "queued"
        case "task_started":
            return "started"
        case "tool_call_started":
            return f"{data.get('tool')} runs"
        case "tool_call_completed":
            return f"{data.get('tool')}: {data.get('outcome')}"
        case "approval_requested":
            who = "an operator" if data.get("needs_operator") else "a person"
            number = data.get("approval_id")
            how = f"decide it on the page, or with `sophon approvals approve {number}`"
            return f"{data.get('tool')} waits for {who}: {how}"
        case "approval_resolved":
            return f"decided: {data.get('decision')}"
        case "plan_step_changed":
            return f"step {data.get('step_id')}: {data.get('status')}"
        case "message" if data.get("role") == "assistant":
            return str(data.get("content") or "") or None
        case _:
            return None
