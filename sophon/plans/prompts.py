"""Prompts for planning, voting, steps and synthesis; and parsing of the vote."""

import re
from collections.abc import Iterable, Mapping, Sequence

from sophon._python.lazy_pattern import lazy_pattern
from sophon.plans.plan import PlanStep
from sophon.plans.step_progress import PlanProgress
from sophon.tools.tool import Risk, Tool
from sophon.tools.truncation import DEFAULT_LIMIT, truncate

_MAX_DESCRIPTION_CHARACTERS = 160
_MAX_PROBLEMS = 20
_YES_OR_NO = lazy_pattern(r"\W*(yes|no)\b|.*\b(yes|no)\W*\Z", re.IGNORECASE | re.DOTALL)

_EXAMPLE = """{"goal": "what is to be reached", "steps": [{"id": "a", "description": "what to do", "depends_on": [], \
"tool_hints": [], "estimated_risk": "low", "model_hint": null}]}"""


def plan_prompt(tools: Iterable[Tool], max_steps: int) -> str:
    """Return the instructions of a `plan` call: the expected JSON, and the tools with their risks, one per line."""
    lines = [f"- {tool.name} (risk {tool.risk.label}): {_one_line(tool.description)}" for tool in tools]
    listed = "\n".join(lines) or "none"
    return (
        "Break the user's request into steps. Answer with one JSON object and nothing else:\n"
        f"{_EXAMPLE}\n"
        f"At most {max_steps} steps, and no more than the request needs. Each id is unique. depends_on lists the ids "
        "of the steps whose results a step needs; steps that need nothing of each other run at the same time, so "
        "depend only on what is needed, and never in a circle. Each description makes sense by itself. tool_hints "
        "names tools from the list below. estimated_risk is the highest risk among the tools that the step will use: "
        f"{', '.join(risk.label for risk in Risk)}. model_hint is null, or a capability such as reasoning or code "
        "generation that the step cannot do without.\n"
        f"Tools:\n{listed}"
    )


def reask_prompt(problems: Sequence[str]) -> str:
    """Return the message that follows an invalid plan: all of its problems."""
    lines = [f"- {problem}" for problem in problems[:_MAX_PROBLEMS]]
    if len(problems) > _MAX_PROBLEMS:
        lines.append(f"- and {len(problems) - _MAX_PROBLEMS} more")
    listed = "\n".join(lines)
    return f"That plan cannot be run:\n{listed}\nAnswer with the whole corrected JSON object and nothing else."


def step_prompt(
    step: PlanStep,
    dependency_results: Mapping[str, str],
    previous_error: str | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
) -> str:
    """Return the user message of a step's turn: description, results of its dependencies, error of the first try.

    Each result is truncated to `limit` characters, by default 8000.
    """
    parts = [step.description]
    if dependency_results:
        found = "\n\n".join(f"Step {needed}:\n{truncate(text, limit)}" for needed, text in dependency_results.items())
        parts.append(f"Results of the steps before this one:\n\n{found}")
    if previous_error:
        parts.append(
            f"A first try failed: {truncate(previous_error)}\nDo not repeat it: find another way to the same end."
        )
    return "\n\n".join(parts)


def synthesis_prompt(progress: PlanProgress, *, limit: int = DEFAULT_LIMIT) -> str:
    """Return the message of the final call: the goal, and each step's result or the reason for having none.

    Each result is truncated to `limit` characters, by default 8000.
    """
    steps = "\n\n".join(_format_outcome(step, progress, limit) for step in progress.plan.steps)
    return (
        f"The request was worked on by a plan. Its goal: {progress.plan.goal}\n\n{steps}\n\n"
        "Answer the user's request from these results. Say plainly what could not be done, and why."
    )


def vote_prompt(request: str) -> str:
    """Return the question of a `vote` call: does the request need a plan? `parse_vote` parses the answer."""
    return (
        "Does the request below need several steps that build on each other, so that a plan would help? "
        f"Answer with one word, yes or no.\n\nRequest:\n{truncate(request)}"
    )


def parse_vote(text: str) -> bool | None:
    """Return True for yes, False for no, None for neither; the word may be first or last, in any case."""
    found = _YES_OR_NO.match(text)
    return None if found is None else (found[1] or found[2]).lower() == "yes"


def _format_outcome(step: PlanStep, progress: PlanProgress, limit: int) -> str:
    state = progress[step.id]
    detail = truncate(state.text if state.status == "completed" else state.reason, limit)
    return f"Step {step.id} ({step.description}), {state.status}:\n{detail}"


def _one_line(description: str) -> str:
    line = " ".join(description.split())
    return (
        line
        if len(line) <= _MAX_DESCRIPTION_CHARACTERS
        else f"{line[:_MAX_DESCRIPTION_CHARACTERS].rsplit(' ', 1)[0]} ..."
    )
