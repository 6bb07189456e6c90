"""Prompts of the planner and of the critic: what they are told, and nothing that a tool or a web page has returned."""

from collections.abc import Iterable, Sequence
from typing import Final

from sophon.messages import Message
from sophon.tools.tool import Risk, Tool
from sophon.tools.untrusted_text import remove_fenced
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.rules.task_graph import MAX_PLANNED_NODES
from sophon_hosting.features.goals.rules.task_node import TaskNode

MAX_CATALOGUE_CHARACTERS: Final = 2000
"""Characters of the catalogue of tools. Source: WASP, goal engine."""

MAX_PLAN_TOKENS: Final = 4000
"""Tokens that a plan may have. Source: WASP, goal engine."""

MAX_REVIEW_TOKENS: Final = 2000
MAX_ERROR_CHARACTERS: Final = 300
_MAX_LINE_CHARACTERS = 160

GOAL_PLAN_PROMPT: Final = "Break the user's request into steps of a goal that a program carries out later, alone."
REVIEW_PROMPT: Final = "Review the plan below, which a program will carry out."

_EXAMPLE = """{"goal": "what is to be reached", "steps": [{"id": "a", "description": "what to do", "depends_on": [], \
"tool": "files.read", "arguments": {"path": "notes.txt"}, "estimated_risk": "low"}]}"""


def build_plan_messages(goal: Goal, tools: Iterable[Tool], failures: Sequence[TaskNode] = ()) -> list[Message]:
    """Return the messages of a planner call; `failures` are the nodes of the last plan that did not work."""
    instructions = (
        f"{GOAL_PLAN_PROMPT} Answer with one JSON object and nothing else:\n{_EXAMPLE}\n"
        f"At most {MAX_PLANNED_NODES} steps, and no more than needed. Each id is unique, of letters, digits, - and _. "
        "depends_on lists the ids of the steps whose results a step needs, never in a circle. tool is the name of one "
        "tool from the list with its arguments, for a step that is exactly one call; {{id}} in an argument stands for "
        "the result of that step. tool is null for a step that needs thought: an agent then does what description "
        "says, with all tools. estimated_risk is the highest risk of the tools that a step uses: "
        f"{', '.join(risk.label for risk in Risk)}. Never write a placeholder such as TODO or <value>.\n"
        f"Tools:\n{build_catalogue(tools)}"
    )
    if failures:
        instructions += f"\nAn earlier plan did not work; find another way:\n{describe_failures(failures)}"
    return [Message("system", instructions), Message("user", goal.description or goal.title)]


def build_review_messages(goal: Goal, plan: str, tools: Iterable[Tool]) -> list[Message]:
    """Return the messages of a critic call about a plan, which is the planner's own JSON."""
    instructions = (
        f"{REVIEW_PROMPT} Does it reach the goal, with these tools, in the right order, and with nothing that was not "
        'asked for? Answer with one JSON object and nothing else: {"verdict": "ok" | "corrected" | "rejected", '
        '"issues": ["..."], "steps": [...]}. With "corrected", steps is the whole corrected list, in the form of the '
        f"plan; else leave it out.\nTools:\n{build_catalogue(tools)}"
    )
    return [Message("system", instructions), Message("user", f"{goal.title}\n\n{goal.description}\n\nPlan:\n{plan}")]


def build_catalogue(tools: Iterable[Tool]) -> str:
    """Return one line per tool with name, risk, parameters and description, cut to `MAX_CATALOGUE_CHARACTERS`.

    Whole lines only: half a tool would be guessed at.
    """
    lines: list[str] = []
    size = 0
    for tool in tools:
        names = ", ".join(tool.parameters.get("properties", {}))
        line = f"- {tool.name} (risk {tool.risk.label}) [{names}]: {' '.join(tool.description.split())}"
        line = line[:_MAX_LINE_CHARACTERS]
        if size + len(line) + 1 > MAX_CATALOGUE_CHARACTERS:
            break
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines) or "none"


def describe_failures(nodes: Iterable[TaskNode]) -> str:
    """Return one line per failed step. What tools returned from outside is not repeated: it could give orders."""
    lines = [
        f"- {node.description}: {' '.join(remove_fenced(node.error).split())[:MAX_ERROR_CHARACTERS] or 'it failed'}"
        for node in nodes
        if node.status == "failed"
    ]
    return "\n".join(lines)
