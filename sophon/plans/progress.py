"""How far a plan has come: the state of each step, and which one may run next.

pending -> running -> completed
                   -> failed      its dependants, direct or not: pending -> skipped
pending or running -> cancelled
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, TypeAlias

from sophon.errors import StateError
from sophon.plans.plan import Plan, PlanStep

StepStatus: TypeAlias = Literal["pending", "running", "completed", "failed", "skipped", "cancelled"]
"""Where a step stands, as in the event PlanStepChanged."""


@dataclass(slots=True)
class StepState:
    """One step's state: `text` is its result, `reason` why it failed, was skipped or is tried again."""

    status: StepStatus = "pending"
    text: str = ""
    reason: str = ""
    tries: int = 0


@dataclass(frozen=True, slots=True)
class SkippedStep:
    """A step that cannot run any more, and why."""

    step: PlanStep
    reason: str


class PlanProgress:
    """The running of one plan, without running anything itself; every list is in plan order.

    A change that the table of states does not allow raises ValueError, an unknown id KeyError.
    """

    __slots__ = ("_states", "plan")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._states = {step.id: StepState() for step in plan.steps}

    def __getitem__(self, step_id: str) -> StepState:
        """The state of a step, to be read."""
        return self._states[step_id]

    @property
    def finished(self) -> bool:
        """Whether no step is pending or running."""
        return all(state.status not in ("pending", "running") for state in self._states.values())

    def ready(self) -> list[PlanStep]:
        """The pending steps whose dependencies are all completed."""
        return [
            step
            for step in self._having("pending")
            if all(self._states[needed].status == "completed" for needed in step.depends_on)
        ]

    def resumable(self) -> list[PlanStep]:
        """The steps that were running when the state was written out; they go on and are not started again."""
        return self._having("running")

    def results_for(self, step: PlanStep) -> dict[str, str]:
        """What the step's own dependencies came to, by id."""
        return {needed: self._states[needed].text for needed in step.depends_on}

    def start(self, step_id: str) -> None:
        """A ready step begins its first try."""
        if all(step.id != step_id for step in self.ready()):
            raise ValueError(f"step {step_id!r} is not ready; it is {self._states[step_id].status}")
        self._states[step_id] = StepState("running", tries=1)

    def retry(self, step_id: str, reason: str) -> None:
        """The running step failed for that reason and is tried again; the reason is kept for the second try."""
        state = self._expect(step_id, "running")
        state.reason = reason
        state.tries += 1

    def complete(self, step_id: str, text: str) -> None:
        """The running step came to a result."""
        state = self._expect(step_id, "running")
        state.status, state.text, state.reason = "completed", text, ""

    def fail(self, step_id: str, reason: str) -> list[SkippedStep]:
        """The running step failed for good; gives the steps that are skipped for it, others are untouched."""
        state = self._expect(step_id, "running")
        state.status, state.reason = "failed", reason
        skipped: list[SkippedStep] = []
        for step in self.plan.dependants(step_id):
            if self._states[step.id].status == "pending":
                why = f"it needs step {step_id!r}, which failed: {reason}"
                self._states[step.id] = StepState("skipped", reason=why)
                skipped.append(SkippedStep(step, why))
        return skipped

    def cancel_rest(self, reason: str = "the turn was cancelled") -> list[PlanStep]:
        """Cancel what is pending or running; gives those steps."""
        stopped = [step for step in self.plan.steps if self._states[step.id].status in ("pending", "running")]
        for step in stopped:
            self._states[step.id].status = "cancelled"
            self._states[step.id].reason = reason
        return stopped

    def to_json(self) -> dict[str, Any]:
        """Plan and states as plain data, ready for JSON."""
        states = {step_id: asdict(state) for step_id, state in self._states.items()}
        return {"plan": self.plan.to_json(), "states": states}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`; raises StateError if the states are not those of the plan's steps."""
        progress = cls(Plan.from_json(data["plan"]))
        states = {step_id: StepState(**state) for step_id, state in data["states"].items()}
        if states.keys() != progress._states.keys():
            raise StateError(f"the states of plan {progress.plan.id!r} are not those of its steps")
        progress._states.update(states)
        return progress

    def _having(self, status: StepStatus) -> list[PlanStep]:
        return [step for step in self.plan.steps if self._states[step.id].status == status]

    def _expect(self, step_id: str, status: StepStatus) -> StepState:
        state = self._states[step_id]
        if state.status != status:
            raise ValueError(f"step {step_id!r} is {state.status}, not {status}")
        return state
