"""Events of plans."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event
from sophon.events.payload_objects import PlanDetail
from sophon.events.visibility import Plain
from sophon.redaction_hook import redact

StepStatus: TypeAlias = Literal["pending", "running", "completed", "failed", "skipped", "cancelled"]


@dataclass(slots=True, kw_only=True)
class PlanProposed(Event):
    """A plan was created: `{id, goal, steps: [...]}`."""

    plan: Annotated[Mapping[str, Any], PlanDetail]


@dataclass(slots=True, kw_only=True)
class PlanStepChanged(Event):
    """A plan step changed its status; `reason` says why it failed or was skipped."""

    step_id: Plain
    status: StepStatus
    reason: str = ""

    def __post_init__(self) -> None:
        self.reason = redact(self.reason)
