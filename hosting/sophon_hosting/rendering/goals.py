"""Goals for the command line and the HTTP API: the graph with statuses, spending by dimension, the next look."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sophon.goals.budget import list_budget
from sophon.goals.goal import Goal
from sophon.goals.task_graph import count_statuses, list_running
from sophon.goals.task_node import TaskNode

RedactText = Callable[[str], str]
"""Returns a text of the conversation as its reader may see it."""


def goal_to_json(goal: Goal, redact: RedactText | None = None) -> dict[str, Any]:
    """Return a goal for a list."""
    show = redact or str
    return {
        "goal_id": goal.id,
        "user": goal.owner,
        "session_id": goal.session_id or goal.work_session_id,
        "title": show(goal.title),
        "state": goal.state,
        "pause": goal.pause_kind,
        "reason": show(goal.reason),
        "autonomy": goal.autonomy.lower(),
        "priority": goal.priority,
        "progress": goal.progress,
        "steps": count_statuses(goal.nodes),
        "created_at": _format(goal.created_at),
        "updated_at": _format(goal.updated_at),
        "finished_at": _format(goal.finished_at),
        "next_tick": _format(goal.next_at),
    }


def goal_details_to_json(goal: Goal, redact: RedactText | None = None) -> dict[str, Any]:
    """Return a goal with its plan and what it has used."""
    uses = list_budget(goal.limits, goal.spent, len(list_running(goal.nodes)))
    return {
        **goal_to_json(goal, redact),
        "description": (redact or str)(goal.description),
        "plan_number": goal.plan_number,
        "graph": [_node_to_json(node, redact) for node in goal.nodes],
        "spend": {each.dimension: {"used": round(each.used, 3), "limit": each.limit} for each in uses},
        "model_calls": goal.spent.model_calls,
        "model_tokens": goal.spent.model_tokens,
        "failures": goal.stability.failures,
        "locked_tools": list(goal.stability.locked_tools),
    }


def _node_to_json(node: TaskNode, redact: RedactText | None) -> dict[str, Any]:
    show = redact or str
    return {
        "id": node.id,
        "description": show(node.description),
        "tool": node.tool or None,
        "arguments": dict(node.arguments) if redact is None else {},
        "depends_on": list(node.depends_on),
        "risk": node.risk.label,
        "status": node.status,
        "waits": node.waits,
        "tries": node.tries,
        "task_id": node.run_id or None,
        "result": show(node.result),
        "error": show(node.error),
    }


def _format(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None
