"""Parsing of what planner and critic answer: task nodes that passed every check, or all problems at once."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.goal_autonomy import promote_risk
from sophon.plans import parse_plan
from sophon.plans.json_extraction import extract_plan_json
from sophon.plans.plan import PlanError, PlanStep
from sophon.tools.placeholder_arguments import describe_placeholder, find_placeholder_argument
from sophon.tools.tool import Tool
from sophon_hosting.features.goals.rules.task_graph import MAX_PLANNED_NODES
from sophon_hosting.features.goals.rules.task_node import TaskNode
from sophon_hosting.features.goals.steps.step_text import list_references

Verdict: TypeAlias = Literal["ok", "corrected", "rejected"]

MAX_ISSUES: Final = 8
_MAX_ISSUE_CHARACTERS = 200
_NODE_ID = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class PlanReview:
    """What the critic says: `nodes` is the corrected plan, empty unless the verdict is `corrected`."""

    verdict: Verdict
    issues: tuple[str, ...] = ()
    nodes: tuple[TaskNode, ...] = ()


def parse_goal_plan(
    text: str, *, tools: Mapping[str, Tool], locked_tools: Collection[str] = (), asked_for: str = ""
) -> tuple[TaskNode, ...]:
    """Return the nodes of a plan. Raises PlanError with all problems: of the graph, of tools and their arguments,
    placeholders, more than `MAX_PLANNED_NODES` steps.

    The risk of a node is at least that of its tool. `asked_for` may hold words that are placeholders elsewhere.
    """
    plan = parse_plan(text, plan_id="goal", max_steps=MAX_PLANNED_NODES, asked_for=asked_for)
    raw = cast("list[Mapping[str, Any]]", extract_plan_json(text)["steps"])
    problems: list[str] = []
    nodes = tuple(
        _read_node(step, data, tools, locked_tools, problems, asked_for)
        for step, data in zip(plan.steps, raw, strict=True)
    )
    if problems:
        raise PlanError(problems)
    return nodes


def parse_review(
    text: str, *, tools: Mapping[str, Tool], locked_tools: Collection[str] = (), asked_for: str = ""
) -> PlanReview:
    """Return the critic's verdict. Raises PlanError for an answer that has none, or an invalid corrected plan."""
    data = extract_plan_json(text)
    verdict = data.get("verdict")
    listed = data.get("issues")
    issues = tuple(
        " ".join(str(each).split())[:_MAX_ISSUE_CHARACTERS]
        for each in (cast("list[object]", listed) if isinstance(listed, list) else ())
    )[:MAX_ISSUES]
    if verdict == "ok":
        return PlanReview("ok", issues)
    if verdict == "rejected":
        return PlanReview("rejected", issues or ("the critic gave no reason",))
    if verdict == "corrected":
        corrected = _with_goal(data)
        return PlanReview(
            "corrected",
            issues,
            parse_goal_plan(corrected, tools=tools, locked_tools=locked_tools, asked_for=asked_for),
        )
    raise PlanError([f"the verdict must be ok, corrected or rejected, not {verdict!r:.40}"])


def _with_goal(data: Mapping[str, Any]) -> str:
    import json  # lazy: only a corrected plan is written again

    return json.dumps({"goal": data.get("goal") or "corrected", "steps": data.get("steps")})


def _read_node(
    step: PlanStep,
    data: Mapping[str, Any],
    tools: Mapping[str, Tool],
    locked: Collection[str],
    problems: list[str],
    asked_for: str,
) -> TaskNode:
    if not _NODE_ID.fullmatch(step.id):
        problems.append(f"step {step.id!r}: an id has letters, digits, - and _, and begins with a letter")
    name, arguments = data.get("tool"), data.get("arguments")
    if not name:
        return TaskNode(step.id, step.description, depends_on=step.depends_on, risk=step.estimated_risk)
    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None:
        problems.append(f"step {step.id!r}: there is no tool {name!r:.60}")
        return TaskNode(step.id, step.description)
    if tool.name in locked:
        problems.append(
            f"step {step.id!r}: the tool {tool.name} is locked for this goal, because it was blocked before"
        )
    if arguments is not None and not isinstance(arguments, dict):
        problems.append(f"step {step.id!r}: arguments must be an object")
        arguments = None
    given: dict[str, Any] = dict(cast("dict[str, Any]", arguments or {}))
    problems += [f"step {step.id!r}: {each}" for each in _check_arguments(tool, given, step.depends_on, asked_for)]
    risk = promote_risk(tool.name, max(step.estimated_risk, tool.risk))
    return TaskNode(step.id, step.description, tool.name, given, step.depends_on, risk)


def _check_arguments(tool: Tool, arguments: Mapping[str, Any], depends_on: Sequence[str], asked_for: str) -> list[str]:
    found = find_placeholder_argument(arguments, tool.parameters)
    is_wrong = found is not None and found.text not in asked_for.casefold()
    problems = [describe_placeholder(tool.name, found)] if found is not None and is_wrong else []
    parameters = tool.parameters
    known = parameters.get("properties", {})
    problems += [f"{tool.name} has no argument {name!r:.60}" for name in arguments if known and name not in known]
    problems += [
        f"{tool.name} needs the argument {name!r}" for name in parameters.get("required", ()) if name not in arguments
    ]
    problems += [
        f"an argument of {tool.name} uses the result of {name!r}, on which the step does not depend"
        for name in list_references(arguments)
        if name not in depends_on
    ]
    return problems
