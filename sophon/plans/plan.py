"""A plan: steps that depend on one another, without circles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sophon.plans.graph import dependants
from sophon.tools.tool import Risk


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step; `depends_on` holds the ids of steps whose results it needs.

    `estimated_risk` is the highest risk among the calls that the step is expected to make, `tool_hints` names tools
    that it will want, `model_hint` a capability it needs (reasoning, code generation) or None.
    """

    id: str
    description: str
    depends_on: tuple[str, ...] = ()
    tool_hints: tuple[str, ...] = ()
    estimated_risk: Risk = Risk.LOW
    model_hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain data, ready for JSON, in the words of contract.md."""
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
        """The inverse of `to_json`, for what the program wrote itself; `parse_plan` reads what a model wrote."""
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
    """A goal and the steps towards it, in the order in which the model gave them."""

    id: str
    goal: str
    steps: tuple[PlanStep, ...]

    @property
    def risk(self) -> Risk:
        """The highest risk that any step declares."""
        return max((step.estimated_risk for step in self.steps), default=Risk.NONE)

    def step(self, step_id: str) -> PlanStep:
        """The step of that id; raises KeyError."""
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)

    def dependants(self, step_id: str) -> tuple[PlanStep, ...]:
        """All steps that need this one, directly or through others, in plan order."""
        found = dependants({step.id: step.depends_on for step in self.steps}, step_id)
        return tuple(step for step in self.steps if step.id in found)

    def to_json(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {"id": self.id, "goal": self.goal, "steps": [step.to_json() for step in self.steps]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(data["id"], data["goal"], tuple(PlanStep.from_json(step) for step in data["steps"]))
