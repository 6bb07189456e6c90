"""Texts of a goal's steps and reports: results in arguments and prompts, fenced where they are read by a model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.family_patterns import GOAL_REPORT
from sophon.plans import Plan, PlanProgress, PlanStep, PlanStepStatus, StepState, step_prompt, synthesis_prompt
from sophon.tools.truncation import truncate
from sophon.tools.untrusted_text import fence_text
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.rules.task_node import NodeStatus, TaskNode

MAX_RESULT_CHARACTERS: Final = 4000
"""Characters of a result that later steps and the report read."""

GOAL_MARK: Final = "This is one step of the goal:"
"""Begins the part of a step's message that says what the goal is."""

_REFERENCE = lazy_pattern(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]{0,63})\s*\}\}")


def list_references(value: object) -> Iterator[str]:
    """Yield the ids of the steps whose results arguments use, as `{{id}}` in any text of them."""
    if isinstance(value, str):
        yield from (found[1] for found in _REFERENCE.finditer(value))
    elif isinstance(value, Mapping):
        for each in value.values():  # pyright: ignore[reportUnknownVariableType] - JSON
            yield from list_references(each)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for each in value:  # pyright: ignore[reportUnknownVariableType] - JSON
            yield from list_references(each)  # pyright: ignore[reportUnknownArgumentType]


def fill_results(value: Any, results: Mapping[str, str]) -> Any:
    """Return arguments with `{{id}}` replaced by the result of that step. Nothing is replaced in what was replaced."""
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: results.get(found[1], found[0]), value)
    if isinstance(value, Mapping):
        return {name: fill_results(each, results) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [fill_results(each, results) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def build_step_text(goal: Goal, node: TaskNode, results: Mapping[str, str], nonce: str) -> str:
    """Return the message of a step that the agent does, in the layout of `sophon.plans.step_prompt`.

    Results are fenced. The goal is told in the words that its owner wrote or approved.
    """
    fenced = {
        name: fence_text(truncate(text, MAX_RESULT_CHARACTERS), f"result of {name}", nonce)
        for name, text in results.items()
    }
    step = PlanStep(node.id, node.description)
    prompt = step_prompt(step, fenced, node.error or None, limit=2 * MAX_RESULT_CHARACTERS)
    return f"{prompt}\n\n{GOAL_MARK} {goal.title}\n{goal.description}"


def build_call_text(goal: Goal, node: TaskNode) -> str:
    """Return the message of a step that is one tool call, without the arguments: nothing says a person wrote them."""
    return f"Step {node.id}: call of the tool {node.tool}\n\n{GOAL_MARK} {goal.title}\n{goal.description}"


def build_report_text(goal: Goal, nonce: str) -> str:
    """Return the message that asks for the report of a goal that is over, in the layout of
    `sophon.plans.synthesis_prompt`; results are fenced. The first line tells the decision layer that nobody wrote it.
    """
    why = f" ({goal.reason})" if goal.reason else ""
    steps = [PlanStep(node.id, node.description) for node in goal.nodes]
    states = {node.id: asdict(_to_step_state(node, nonce)) for node in goal.nodes}
    plan = Plan("plan_report", f"{goal.title}{why}", tuple(steps)).to_json()
    progress = PlanProgress.from_json({"plan": plan, "states": states})
    return f"{GOAL_REPORT} {goal.state}]\n{synthesis_prompt(progress, limit=2 * MAX_RESULT_CHARACTERS)}"


def find_results(nodes: Sequence[TaskNode], node: TaskNode) -> dict[str, str]:
    """Return the results of the steps on which a node depends, by id."""
    return {each.id: each.result for each in nodes if each.id in node.depends_on}


def _to_step_state(node: TaskNode, nonce: str) -> StepState:
    detail = node.result if node.status == "done" else node.error
    shown = fence_text(truncate(detail, MAX_RESULT_CHARACTERS), f"step {node.id}", nonce) if detail else ""
    status: PlanStepStatus = _STATUSES[node.status]
    return StepState(status, text=shown, reason=shown or "it was not tried")


_STATUSES: Final[Mapping[NodeStatus, PlanStepStatus]] = {
    "pending": "pending",
    "running": "cancelled",
    "done": "completed",
    "failed": "failed",
    "blocked": "skipped",
}
