"""Parse and validate a plan from a model's answer; all problems are reported at once."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from sophon.plans.dependency_graph import find_cycles
from sophon.plans.json_extraction import extract_plan_json
from sophon.plans.plan import Plan, PlanError, PlanStep
from sophon.tools.placeholder_arguments import find_placeholder_word
from sophon.tools.tool import Risk

MAX_STEPS = 20
"""Maximum number of steps of a plan. Source: Sophon's guide, PlanMaxSteps."""

MAX_ID_CHARACTERS = 64
_QUOTED_CHARACTERS = 40
"""Characters of an invalid value that a problem quotes."""

_MAX_PATH_STEPS = 12
"""Steps of a cycle that a problem names."""

_MAX_SIMILAR_LOOKUPS = 20
"""Unknown tools for which similar names are searched; bounds the work on hostile text."""


def parse_plan(
    text: str,
    *,
    plan_id: str,
    max_steps: int = MAX_STEPS,
    tools: Collection[str] | None = None,
    asked_for: str | None = None,
) -> Plan:
    """Return the plan in a model's answer, ignoring text around its JSON; its id is `"plan_" + plan_id`.

    Numeric ids become text; depends_on, tool_hints, estimated_risk (default low) and model_hint may be missing or null.
    With `tools` every hint must be one of them. With `asked_for`, the user's text, a step of medium risk or above must
    hold no placeholder that is not in it. Raises PlanError with all problems at once.
    """
    data = extract_plan_json(text)
    problems: list[str] = []
    goal = _read_goal(data, problems)
    steps = _read_steps(data.get("steps"), problems)
    if len(steps) > max_steps:
        problems.append(f"the plan has {len(steps)} steps, and at most {max_steps} are allowed")
    problems += _check_duplicates(steps)
    problems += _check_dependencies(steps)
    problems += _check_cycles(steps)
    if tools is not None:
        problems += _check_tools(steps, tools)
    if asked_for is not None:
        problems += _check_placeholders(steps, asked_for.casefold())
    if problems:
        raise PlanError(problems)
    return Plan(f"plan_{plan_id}", goal, steps)


def _check_placeholders(steps: Iterable[PlanStep], asked_for: str) -> Iterator[str]:
    for step in steps:
        found = find_placeholder_word(step.description) if step.estimated_risk >= Risk.MEDIUM else ""
        if found and found not in asked_for:
            yield f"step {step.id} holds the placeholder {_quote(found)}; write the real value, or a step that finds it"


def _read_goal(data: Mapping[str, Any], problems: list[str]) -> str:
    goal = data.get("goal")
    if isinstance(goal, str):
        return _clean(goal)
    problems.append("the goal is missing" if goal is None else f"the goal must be a text, not {_quote(goal)}")
    return ""


def _read_steps(raw: object, problems: list[str]) -> tuple[PlanStep, ...]:
    if raw is not None and not isinstance(raw, list):
        problems.append(f"steps must be a list, not {_quote(raw)}")
        return ()
    if not raw:
        problems.append("the plan has no steps")
        return ()
    steps: list[PlanStep] = []
    for number, item in enumerate(cast(list[object], raw), 1):
        if isinstance(item, dict):
            steps.append(_StepReader(cast(dict[str, Any], item), number, problems).read())
        else:
            problems.append(f"step number {number} must be an object, not {_quote(item)}")
    return tuple(steps)


class _StepReader:
    """Reads the fields of one step and collects a problem for each invalid one; the id is "" if it is missing."""

    def __init__(self, data: Mapping[str, Any], number: int, problems: list[str]) -> None:
        self._data, self._problems = data, problems
        self._id = _to_id(data.get("id")) or ""
        self._label = _label(self._id, number)

    def read(self) -> PlanStep:
        if not self._id:
            self._add_problem("id", f"a text of 1 to {MAX_ID_CHARACTERS} characters without '/', or a number")
        return PlanStep(
            self._id,
            self._description(),
            self._list("depends_on"),
            self._list("tool_hints"),
            self._risk(),
            self._model_hint(),
        )

    def _description(self) -> str:
        value = self._data.get("description")
        if isinstance(value, str) and value.strip():
            return _clean(value)
        self._add_problem("description", "a text")
        return ""

    def _list(self, field: str) -> tuple[str, ...]:
        value = self._data.get(field)
        if value is None:
            return ()
        items = [_to_text(item) for item in cast(list[object], value)] if isinstance(value, list) else [None]
        if None in items:
            self._add_problem(field, "a list of texts")
        return tuple(dict.fromkeys(item for item in items if item is not None))

    def _risk(self) -> Risk:
        value = self._data.get("estimated_risk")
        if value is None:
            return Risk.LOW
        try:
            return Risk.parse(value if isinstance(value, str) else "")
        except ValueError:
            self._add_problem("estimated_risk", f"one of {', '.join(risk.label for risk in Risk)}")
            return Risk.LOW

    def _model_hint(self) -> str | None:
        value = self._data.get("model_hint")
        if value is None or isinstance(value, str):
            return _clean(value or "") or None
        self._add_problem("model_hint", "a text or null")
        return None

    def _add_problem(self, field: str, expected: str) -> None:
        value = self._data.get(field)
        found = f"is {_quote(value)}" if field in self._data else "is missing"
        self._problems.append(f"{self._label}: {field} {found}; it must be {expected}")


def _to_id(value: object) -> str | None:
    """Return the id, or None if invalid. An id becomes a part of a run id, so it must not contain a slash."""
    name = _to_text(value)
    return name if name and len(name) <= MAX_ID_CHARACTERS and "/" not in name else None


def _to_text(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return _clean(str(value)) or None


def _check_duplicates(steps: Sequence[PlanStep]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for step in steps:
        if step.id:
            seen[step.id] = seen.get(step.id, 0) + 1
    return (f"the id {step_id!r} is used by {times} steps" for step_id, times in seen.items() if times > 1)


def _check_dependencies(steps: Sequence[PlanStep]) -> Iterator[str]:
    known = {step.id for step in steps}
    for number, step in enumerate(steps, 1):
        for needed in step.depends_on:
            if needed == step.id:
                yield f"{_label(step.id, number)} depends on itself"
            elif needed not in known:
                yield f"{_label(step.id, number)} depends on {_quote(needed)}, which is no step of the plan"


def _check_cycles(steps: Sequence[PlanStep]) -> Iterator[str]:
    needs = {step.id: step.depends_on for step in steps}
    return (f"the steps depend on each other in a cycle: {_format_path(cycle)}" for cycle in find_cycles(needs))


def _format_path(ids: Sequence[str]) -> str:
    shown = ids if len(ids) <= _MAX_PATH_STEPS else [*ids[: _MAX_PATH_STEPS - 2], "...", ids[-1]]
    return " -> ".join(shown)


def _check_tools(steps: Sequence[PlanStep], tools: Collection[str]) -> Iterator[str]:
    known, names, lookups = frozenset(tools), list(tools), 0
    for number, step in enumerate(steps, 1):
        for hint in step.tool_hints:
            if hint in known:
                continue
            lookups += 1
            near = get_close_matches(hint[:_QUOTED_CHARACTERS], names) if lookups <= _MAX_SIMILAR_LOOKUPS else []
            meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            yield f"{_label(step.id, number)}: there is no tool {_quote(hint)}{meant}"


def _label(step_id: str, number: int) -> str:
    return f"step {step_id!r}" if step_id else f"step number {number}"


def _clean(text: str) -> str:
    """Strip white space and replace lone surrogates, which cannot be encoded."""
    return text.strip().encode("utf-8", "replace").decode()


def _quote(value: object) -> str:
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits
        shown = type(value).__name__
    return shown if len(shown) <= _QUOTED_CHARACTERS else shown[: _QUOTED_CHARACTERS - 3] + "..."
