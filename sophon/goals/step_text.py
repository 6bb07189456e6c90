"""Texts of a goal's steps and reports: results in arguments and prompts, fenced where they are read by a model."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sophon.goals.goal import Goal
from sophon.goals.task_node import TaskNode
from sophon.lazy_pattern import lazy_pattern
from sophon.tools.truncation import truncate
from sophon.tools.untrusted_text import fence_text

MAX_RESULT_CHARACTERS: Final = 4000
"""Characters of a result that later steps and the report read."""

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
    """Return the message of a step that the agent does; the results of other steps are fenced.

    The goal is told in the words that its owner wrote or approved.
    """
    parts = [
        f"Goal: {goal.title}\n{goal.description}",
        f"Do this step of its plan, and only this: {node.description}",
    ]
    if results:
        found = "\n\n".join(
            f"Step {name}:\n{fence_text(truncate(text, MAX_RESULT_CHARACTERS), f'result of step {name}', nonce)}"
            for name, text in results.items()
        )
        parts.append(f"Results of the steps before this one:\n\n{found}")
    if node.error:
        parts.append(f"A first try failed: {truncate(node.error)}\nDo not repeat it: find another way to the same end.")
    return "\n\n".join(parts)


def build_call_text(goal: Goal, node: TaskNode) -> str:
    """Return the message of a step that is one tool call, without the arguments: nothing says a person wrote them."""
    return f"Goal: {goal.title}\n{goal.description}\n\nStep {node.id}: call of the tool {node.tool}"


def build_report_text(goal: Goal, nonce: str) -> str:
    """Return the message that asks for the report of a goal that is over; results are fenced."""
    steps = "\n\n".join(_describe_step(node, nonce) for node in goal.nodes) or "It had no plan."
    return (
        f"[AUTO-DETECTED: goal {goal.state}: {goal.title}]\n"
        f"The goal that was asked for in this conversation is over: {goal.state}"
        f"{f' ({goal.reason})' if goal.reason else ''}. Report its outcome in a few sentences, from the results below. "
        "Say plainly what could not be done, and why. Do nothing else.\n\n"
        f"{steps}"
    )


def build_plain_report(goal: Goal) -> str:
    """Return the report of a goal without a model: its state and how each step ended."""
    lines = [f"Goal {goal.title!r}: {goal.state}{f' ({goal.reason})' if goal.reason else ''}, {goal.progress} % done."]
    lines += [f"- {node.description}: {node.status}" for node in goal.nodes]
    return "\n".join(lines)


def find_results(nodes: Sequence[TaskNode], node: TaskNode) -> dict[str, str]:
    """Return the results of the steps on which a node depends, by id."""
    return {each.id: each.result for each in nodes if each.id in node.depends_on}


def _describe_step(node: TaskNode, nonce: str) -> str:
    detail = node.result if node.status == "done" else node.error
    shown = fence_text(truncate(detail, MAX_RESULT_CHARACTERS), f"step {node.id}", nonce) if detail else "(nothing)"
    return f"Step {node.id} ({node.description}), {node.status}:\n{shown}"
