"""Plans and their steps: an acyclic graph of dependencies."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import SophonError
from sophon.plans.dependency_graph import find_dependants
from sophon.tools.tool import Risk


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a plan; `depends_on` holds the ids of the steps whose results it needs.

    `estimated_risk` is the highest risk among the calls that the step is expected to make, `tool_hints` names the tools
    that it will probably use, `model_hint` is a required capability (reasoning, code generation) or None.
    """

    id: str
    description: str
    depends_on: tuple[str, ...] = ()
    tool_hints: tuple[str, ...] = ()
    estimated_risk: Risk = Risk.LOW
    model_hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, with the field names of contract.md."""
        return {
            "id": self.id,
            "description": self.description,
            "depends_on": list(self.depends_on),
            "tool_hints": list(self.tool_hints),
            "estimated_risk": self.estimated_risk.label,
            "model_hint": self.model_hint,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`. For trusted data; `parse_plan` reads what a model wrote."""
        return cls(
            data["id"],
            data["description"],
            tuple(data["depends_on"]),
            tuple(data["tool_hints"]),
            Risk.parse(data["estimated_risk"]),
            data["model_hint"],
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """A goal and its steps, in the order in which the model gave them."""

    id: str
    goal: str
    steps: tuple[PlanStep, ...]

    @property
    def risk(self) -> Risk:
        """The highest estimated risk of any step."""
        return max((step.estimated_risk for step in self.steps), default=Risk.NONE)

    def find_dependants(self, step_id: str) -> tuple[PlanStep, ...]:
        """Return all steps that depend on this one, directly or transitively, in plan order."""
        found = find_dependants({step.id: step.depends_on for step in self.steps}, step_id)
        return tuple(step for step in self.steps if step.id in found)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {"id": self.id, "goal": self.goal, "steps": [step.to_json() for step in self.steps]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        return cls(data["id"], data["goal"], tuple(PlanStep.from_json(step) for step in data["steps"]))


class PlanError(SophonError):
    """An invalid plan; `problems` has one line per problem, the sentence the first `MAX_TOLD_PROBLEMS`."""

    MAX_TOLD_PROBLEMS = 50

    code = "plan"

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        told, rest = self.problems[: self.MAX_TOLD_PROBLEMS], len(self.problems) - self.MAX_TOLD_PROBLEMS
        super().__init__("the plan cannot be run: " + "; ".join([*told, *([f"and {rest} more"] if rest > 0 else [])]))
