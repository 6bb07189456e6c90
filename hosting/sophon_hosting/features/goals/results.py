"""Results of goals: the goal with its state, its graph of steps, and what it has used."""

from collections.abc import Callable
from typing import Any, Literal, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.risk import RiskLabel
from sophon_hosting.features.goals.rules.budget import BudgetDimension, list_budget
from sophon_hosting.features.goals.rules.goal import Goal, PauseKind
from sophon_hosting.features.goals.rules.state_machine import GoalState
from sophon_hosting.features.goals.rules.task_graph import count_statuses, list_running
from sophon_hosting.features.goals.rules.task_node import NodeStatus, TaskNode
from sophon_hosting.features.iso_time import to_iso

RedactText = Callable[[str], str]
"""Returns a text of the conversation as its reader may see it."""


class GoalView(TypedDict):
    """A goal of a list; `steps` has the number of its steps by status, `progress` is in per cent."""

    goal_id: str
    user: str
    session_id: str
    title: str
    state: GoalState
    pause: PauseKind
    reason: str
    autonomy: Literal["assist", "semi", "full"]
    priority: int
    progress: int
    steps: dict[NodeStatus, int]
    created_at: str | None
    updated_at: str | None
    finished_at: str | None
    next_tick: str | None


class GoalStep(TypedDict):
    """A step of a goal's plan, which may be one tool call; `waits` for a person."""

    id: str
    description: str
    tool: str | None
    arguments: dict[str, Any]
    depends_on: list[str]
    risk: RiskLabel
    status: NodeStatus
    waits: bool
    tries: int
    task_id: str | None
    result: str
    error: str


class GoalSpend(TypedDict):
    """What a goal has used of one dimension of its budget."""

    used: float
    limit: int


class GoalDetails(GoalView):
    """A goal with its plan and what it has used."""

    description: str
    plan_number: int
    graph: list[GoalStep]
    spend: dict[BudgetDimension, GoalSpend]
    model_calls: int
    model_tokens: int
    failures: int
    locked_tools: list[str]


class GoalList(TypedDict):
    """Goals, newest first; `enabled` if the host works on any."""

    items: list[GoalView]
    enabled: bool


def goal_to_json(goal: Goal, redact: RedactText | None = None) -> GoalView:
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
        "autonomy": cast(Literal["assist", "semi", "full"], goal.autonomy.lower()),
        "priority": goal.priority,
        "progress": goal.progress,
        "steps": count_statuses(goal.nodes),
        "created_at": to_iso(goal.created_at),
        "updated_at": to_iso(goal.updated_at),
        "finished_at": to_iso(goal.finished_at),
        "next_tick": to_iso(goal.next_at),
    }


def goal_details_to_json(goal: Goal, redact: RedactText | None = None) -> GoalDetails:
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


def _node_to_json(node: TaskNode, redact: RedactText | None) -> GoalStep:
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
