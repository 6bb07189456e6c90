"""The contract of the trajectories, and of the feedback on the answers of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.learning.feedback import Feedback
from sophon.learning.trajectories import Trajectory, rate_quality

TrajectoryOrder: TypeAlias = Literal["newest", "best", "poorest"]


@dataclass(frozen=True, slots=True)
class TrajectoryWrite:
    """A trajectory to store; of all trajectories the newest `keep` are kept."""

    trajectory: Trajectory
    keep: int


@dataclass(frozen=True, slots=True)
class FeedbackResult:
    """What feedback has changed: the person's value before, and the trajectory before and after; None without one."""

    previous: float | None
    before: Trajectory | None
    after: Trajectory | None
    is_changed: bool


class TrajectoryStore(Protocol):
    """Repository of trajectories by run, and of feedback by run and person. Both are deleted with their session."""

    async def add(self, writes: Sequence[TrajectoryWrite]) -> None:
        """Store trajectories, all or none; one of a known run replaces it."""
        ...

    async def find(self, run_id: str) -> Trajectory | None:
        """Return the trajectory of a run."""
        ...

    async def list(
        self,
        *,
        order: TrajectoryOrder = "newest",
        limit: int = 100,
        principal: str | None = None,
        session_id: str | None = None,
        at_least: float | None = None,
        below: float | None = None,
    ) -> list[Trajectory]:
        """Return trajectories with a quality of `at_least` and `below`; the newest first among equals.

        By quality, those that nobody has judged come last.
        """
        ...

    async def count(self) -> int:
        """Return the number of trajectories."""
        ...

    async def rate(self, feedback: Feedback) -> FeedbackResult:
        """Store what a person says about the answer of a run, instead of what they said before; a value of 0 without
        a text takes it back. The trajectory of the run, if there is one, gets its new quality.
        """
        ...

    async def score(self, run_id: str, scores: Mapping[str, float], judge: str) -> Trajectory | None:
        """Give the trajectory of a run the scores of a judge; return it, None if there is none any more."""
        ...

    async def list_feedback(self, run_id: str) -> Sequence[Feedback]:
        """Return the feedback on a run, oldest first."""
        ...

    async def clear(self) -> int:
        """Delete all trajectories; return how many. Feedback stays."""
        ...

    async def expire(self, before: datetime) -> int:
        """Delete trajectories, and feedback that is older; return how many trajectories."""
        ...


def apply_feedback(trajectory: Trajectory, values: Sequence[float]) -> Trajectory:
    """Return the trajectory with the values of all persons who said something."""
    mean = sum(values) / len(values) if values else None
    return replace(trajectory, quality=rate_quality(trajectory.judged_score, values), feedback=mean)


def apply_score(trajectory: Trajectory, scores: Mapping[str, float], judge: str) -> Trajectory:
    """Return the trajectory with the scores of a judge, beside what people have said."""
    scored = replace(trajectory, scores=scores, judge=judge)
    return apply_feedback(scored, () if trajectory.feedback is None else (trajectory.feedback,))


def is_withdrawal(feedback: Feedback) -> bool:
    """Return whether feedback takes back what the person said."""
    return feedback.value == 0 and not feedback.text
