"""Budget of one goal: its limits in seven dimensions, what it has used, and the first limit that is reached."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal, Self, TypeAlias

from sophon._python.lazy_dataclass import dataclass

BudgetDimension: TypeAlias = Literal[
    "planning_tokens", "execution_tokens", "replans", "steps", "parallel", "memory_bytes", "runtime_seconds"
]


@dataclass(frozen=True, slots=True)
class GoalBudget:
    """Limits of a goal. Tokens are those that models wrote; `parallel` steps run at once, the others are totals.

    The defaults are those of WASP's code (goal engine); docs/goals.md has those of its page beside them.
    """

    planning_tokens: int = 2000
    execution_tokens: int = 10_000
    replans: int = 5
    steps: int = 50
    parallel: int = 1
    memory_bytes: int = 1024 * 1024
    runtime_seconds: int = 3600

    def to_json(self) -> dict[str, int]:
        """Return plain data, ready for JSON."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        return cls(**data)

    def extend(self, dimension: BudgetDimension, by: int) -> Self:
        """Return the budget with more in one dimension."""
        return replace(self, **{dimension: getattr(self, dimension) + by})


@dataclass(frozen=True, slots=True)
class GoalSpending:
    """What a goal has used, in the dimensions that add up; and, without a limit, its model calls with all tokens."""

    planning_tokens: int = 0
    execution_tokens: int = 0
    replans: int = 0
    steps: int = 0
    memory_bytes: int = 0
    runtime_seconds: float = 0.0
    model_calls: int = 0
    model_tokens: int = 0

    def add(self, **more: float) -> Self:
        """Return the spending with more of some dimensions."""
        return replace(self, **{name: getattr(self, name) + value for name, value in more.items()})

    def to_json(self) -> dict[str, float]:
        """Return plain data, ready for JSON."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        return cls(**data)


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """Use of one dimension; `str()` is `used/limit dimension`."""

    dimension: BudgetDimension
    used: float
    limit: int

    def __str__(self) -> str:
        return f"{self.used:.12g}/{self.limit} {self.dimension}"


def list_budget(limits: GoalBudget, spent: GoalSpending, running: int = 0) -> list[BudgetUse]:
    """Return the use of each dimension, for people; `running` is the number of steps that run now."""
    used = {**spent.to_json(), "parallel": running}
    return [BudgetUse(each.name, used[each.name], getattr(limits, each.name)) for each in fields(limits)]  # type: ignore[arg-type] # the fields are the dimensions


def find_exhausted(limits: GoalBudget, spent: GoalSpending, *dimensions: BudgetDimension) -> BudgetUse | None:
    """Return the first of the dimensions that has nothing left, None if all have."""
    for dimension in dimensions:
        used, limit = getattr(spent, dimension), getattr(limits, dimension)
        if used >= limit:
            return BudgetUse(dimension, used, limit)
    return None
