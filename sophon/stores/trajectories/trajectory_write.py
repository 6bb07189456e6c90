"""Trajectories, as they are written, and the feedback on the answers of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

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
