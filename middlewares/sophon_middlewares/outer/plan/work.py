"""What a turn keeps of its plan, so that it can be suspended in the middle and go on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from sophon.context import Context
from sophon.extensions import Key
from sophon.plans import PlanProgress

Leave: TypeAlias = Literal["open", "given", "unneeded"]
"""Whether a person was asked about the plan: not yet, and approved, or nobody had to be."""


@dataclass(slots=True)
class PlanWork:
    """A plan, how far it has come, and the turns of the steps that are under way.

    `turns` holds the steps that run, or were suspended, in this process; `written` those that came back with a state.
    """

    progress: PlanProgress
    leave: Leave = "open"
    turns: dict[str, Context] = field(default_factory=dict[str, Context])
    written: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def to_json(self) -> dict[str, Any]:
        """As plain data, ready for JSON; a turn under way as its own state."""
        turns = {**self.written, **{step_id: turn.state() for step_id, turn in self.turns.items()}}
        return {"progress": self.progress.to_json(), "leave": self.leave, "turns": turns}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`; raises StateError."""
        return cls(PlanProgress.from_json(data["progress"]), data["leave"], written=dict(data["turns"]))


WORK: Key[PlanWork] = Key("planning.work", dump=PlanWork.to_json, load=PlanWork.from_json)
