"""Progress of a plan: the state machine of each step, and which steps may run next.

::

    pending -> running -> completed
                       -> failed      its dependants, direct or transitive: pending -> skipped
    pending or running -> cancelled -> pending or running   when the turn is run again
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal, Self, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import StateError
from sophon.plans.plan import Plan, PlanStep

PlanStepStatus: TypeAlias = Literal["pending", "running", "completed", "failed", "skipped", "cancelled"]
"""Status of a step, as in the event PlanStepChanged."""


@dataclass(slots=True)
class StepState:
    """State of one step.

    `text` is its result; `reason` says why it failed, was skipped or is retried; `tries` counts its tries.
    """

    status: PlanStepStatus = "pending"
    text: str = ""
    reason: str = ""
    tries: int = 0


@dataclass(frozen=True, slots=True)
class SkippedStep:
    """A step that cannot run any more, and why."""

    step: PlanStep
    reason: str


class PlanProgress:
    """State machine of one plan's execution; it executes nothing itself. Every list is in plan order.

    A transition that the table above does not allow raises ValueError, an unknown id KeyError.
    """

    __slots__ = ("_states", "plan")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._states = {step.id: StepState() for step in plan.steps}

    def __getitem__(self, step_id: str) -> StepState:
        """Return the state of a step, for reading."""
        return self._states[step_id]

    @property
    def is_finished(self) -> bool:
        """Whether no step is pending or running."""
        return all(state.status not in ("pending", "running") for state in self._states.values())

    def list_ready(self) -> list[PlanStep]:
        """Return the pending steps whose dependencies are all completed."""
        return [
            step
            for step in self._with_status("pending")
            if all(self._states[needed].status == "completed" for needed in step.depends_on)
        ]

    def list_running(self) -> list[PlanStep]:
        """Return the running steps; after a resume they continue and must not be started again."""
        return self._with_status("running")

    def dependency_results(self, step: PlanStep) -> dict[str, str]:
        """Return the results of the step's direct dependencies, by id."""
        return {needed: self._states[needed].text for needed in step.depends_on}

    def start(self, step_id: str) -> None:
        """Start the first try of a ready step."""
        if all(step.id != step_id for step in self.list_ready()):
            raise ValueError(f"step {step_id!r} is not ready; it is {self._states[step_id].status}")
        self._states[step_id] = StepState("running", tries=1)

    def retry(self, step_id: str, reason: str) -> None:
        """Start another try of a running step that failed; its prompt gets the reason."""
        state = self._require_status(step_id, "running")
        state.reason = reason
        state.tries += 1

    def complete(self, step_id: str, text: str) -> None:
        """Complete the running step with its result."""
        state = self._require_status(step_id, "running")
        state.status, state.text, state.reason = "completed", text, ""

    def fail(self, step_id: str, reason: str) -> list[SkippedStep]:
        """Fail the running step for good; return its dependants, which are skipped."""
        state = self._require_status(step_id, "running")
        state.status, state.reason = "failed", reason
        skipped: list[SkippedStep] = []
        for step in self.plan.find_dependants(step_id):
            if self._states[step.id].status == "pending":
                why = f"it needs step {step_id!r}, which failed: {reason}"
                self._states[step.id] = StepState("skipped", reason=why)
                skipped.append(SkippedStep(step, why))
        return skipped

    def cancel_unfinished(self, reason: str = "the turn was cancelled") -> list[PlanStep]:
        """Cancel all pending and running steps and return them."""
        stopped = [step for step in self.plan.steps if self._states[step.id].status in ("pending", "running")]
        for step in stopped:
            self._states[step.id].status = "cancelled"
            self._states[step.id].reason = reason
        return stopped

    def reopen_cancelled(self) -> list[PlanStep]:
        """Reopen the cancelled steps: one that had started is running again, the others are pending; return the former.

        For a turn that is run again after an error had stopped it.
        """
        stopped = self._with_status("cancelled")
        for step in stopped:
            state = self._states[step.id]
            state.status, state.reason = "running" if state.tries else "pending", ""
        return [step for step in stopped if self._states[step.id].tries]

    def to_json(self) -> dict[str, Any]:
        """Return plan and states as plain data, ready for JSON."""
        states = {step_id: asdict(state) for step_id, state in self._states.items()}
        return {"plan": self.plan.to_json(), "states": states}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`. Raises StateError if the states do not match the plan's steps."""
        progress = cls(Plan.from_json(data["plan"]))
        states = {step_id: StepState(**state) for step_id, state in data["states"].items()}
        if states.keys() != progress._states.keys():
            raise StateError(f"the states of plan {progress.plan.id!r} do not match its steps")
        progress._states.update(states)
        return progress

    def _with_status(self, status: PlanStepStatus) -> list[PlanStep]:
        return [step for step in self.plan.steps if self._states[step.id].status == status]

    def _require_status(self, step_id: str, status: PlanStepStatus) -> StepState:
        state = self._states[step_id]
        if state.status != status:
            raise ValueError(f"step {step_id!r} is {state.status}, not {status}")
        return state
