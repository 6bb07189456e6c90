"""State of a turn's plan, kept so that the turn can be suspended and resumed."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, Self, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.extensions import Key
from sophon.plans import PlanProgress

PlanApprovalStatus: TypeAlias = Literal["open", "given", "unneeded"]
"""Approval status of the plan: not asked yet, approved, or not needed."""


@dataclass(slots=True)
class PlanState:
    """A plan, its progress, and the child turns of unfinished steps.

    `active_turns` holds the turns that run or were suspended in this process, `saved_turns` the saved states of a
    restored turn. `approved_by` is the author of the approval, "" if nobody was asked or the author is unknown.
    """

    progress: PlanProgress
    approval_status: PlanApprovalStatus = "open"
    active_turns: dict[str, Context] = field(default_factory=dict[str, Context])
    saved_turns: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    approved_by: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain data; the state of an active turn as a snapshot."""
        turns = {**self.saved_turns, **{step_id: turn.snapshot() for step_id, turn in self.active_turns.items()}}
        return {
            "progress": self.progress.to_json(),
            "leave": self.approval_status,
            "by": self.approved_by,
            "turns": turns,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`. Raises StateError."""
        return cls(
            PlanProgress.from_json(data["progress"]),
            data["leave"],
            saved_turns=dict(data["turns"]),
            approved_by=data.get("by", ""),
        )


PLAN_STATE: Key[PlanState] = Key("planning.work", dump=PlanState.to_json, load=PlanState.from_json)
