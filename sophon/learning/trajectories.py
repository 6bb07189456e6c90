"""Trajectories: what a finished turn was asked, how it was routed and answered, and how well. Source: clawft."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from sophon._python.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from sophon.learning.answer_evaluation import Evaluation
    from sophon.learning.fitness import Fitness

POOR_BELOW: Final = 0.6
"""Quality below which a turn counts as poor."""
GOOD_FROM: Final = 0.8
"""Quality from which a turn counts as good, and its route is reused."""
MAX_KEPT: Final = 1000
"""Trajectories that are kept; the oldest are dropped."""
MAX_TEXT_CHARACTERS: Final = 4000
"""Characters of the request and of the reply that are kept of each."""
EVOLUTION_POOR: Final = 10
"""Poor trajectories from which the prompts are worth changing, asked at every `EVOLUTION_INTERVAL`-th."""
EVOLUTION_INTERVAL: Final = 50
POOR_PER_THUMBS_DOWN: Final = 2
LOW_DIMENSION: Final = 0.6
SAID_SHARE: Final = 0.7
"""Weight of what people say about an answer, beside its score by form."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Record of one finished turn; the texts have their secrets replaced and are cut.

    `quality` is 0 to 1, None for an answer that nobody has judged: what `judge` and people say, see `rate_quality`.
    `judge` is who has scored it so that routing learns from the score (`Judge`), "" for a score that is only shown;
    `feedback` is the mean of what people said, -1 to 1, None without any. The cost is in micro-USD, None if it is
    unknown.
    """

    run_id: str
    session_id: str
    principal: str
    at: datetime
    request: str
    reply: str
    task_type: str = "chat"
    complexity: float | None = None
    tier: str = ""
    model: str = ""
    strategy: str = ""
    finish_reason: str = "stop"
    tools: Sequence[str] = ()
    scores: Mapping[str, float] | None = None
    quality: float | None = None
    cost_micro_usd: int | None = None
    duration_ms: int = 0
    output_tokens: int = 0
    feedback: float | None = None
    judge: str = ""

    @property
    def judged_score(self) -> float | None:
        """The overall score if its judge can tell good answers from bad ones."""
        return (self.scores or {}).get("overall") if self.judge else None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values; the time in UTC."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return found | {
            "at": self.at.astimezone(UTC).isoformat(timespec="microseconds"),
            "tools": list(self.tools),
            "scores": dict(self.scores or {}),
        }


def scores_to_json(score: "Fitness | Evaluation") -> dict[str, float]:
    """Return the scores by dimension, rounded to four places."""
    return {field.name: round(float(getattr(score, field.name)), 4) for field in fields(score)}


def rate_quality(score: float | None, signals: Sequence[float]) -> float | None:
    """Return the quality of an answer: what people said about it weighs 0.7, and the score of a judge 0.3.

    Signals are -1 (bad) to 1 (good). With one of both it is that alone, with neither None: nobody has judged it.
    """
    if not signals:
        return score
    said = (sum(signals) / len(signals) + 1) / 2
    return min(max(said if score is None else (1 - SAID_SHARE) * score + SAID_SHARE * said, 0.0), 1.0)


def needs_evolution(poor: int, recorded: int) -> bool:
    """Return whether the prompts are worth changing, as published: from 10 poor on, at every 50th trajectory."""
    return poor >= EVOLUTION_POOR and recorded % EVOLUTION_INTERVAL == 0


def count_poor(trajectories: Sequence[Trajectory]) -> int:
    """Return the number of poor trajectories; one that people rejected counts `POOR_PER_THUMBS_DOWN` more."""
    poor = sum(each.quality is not None and each.quality < POOR_BELOW for each in trajectories)
    rejected = sum(each.feedback is not None and each.feedback < 0 for each in trajectories)
    return poor + POOR_PER_THUMBS_DOWN * rejected


def describe_scores(scores: Mapping[str, float]) -> str:
    """Return the scores in words, with the dimensions that are low."""
    shown = ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
    low = [name for name, value in scores.items() if name != "overall" and value < LOW_DIMENSION]
    return f"{shown}; low: {', '.join(low)}" if low else shown


def summarize(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Return counts of the trajectories, and their mean quality in all and per task type."""
    judged = [(each.task_type, each.quality) for each in trajectories if each.quality is not None]
    qualities = [quality for _, quality in judged]
    return {
        "count": len(trajectories),
        "good": sum(quality >= GOOD_FROM for quality in qualities),
        "poor": sum(quality < POOR_BELOW for quality in qualities),
        "rated": sum(each.feedback is not None for each in trajectories),
        "quality": _mean(qualities),
        "task_types": {
            name: _mean([quality for kind, quality in judged if kind == name])
            for name in sorted({each.task_type for each in trajectories})
        },
        **count_agreement(trajectories),
    }


def count_agreement(trajectories: Sequence[Trajectory]) -> dict[str, int]:
    """Return how many answers both a judge and people have judged (`compared`), and how many of them alike (`agreed`).

    From 0.5 of the judge, or 0 of the people, an answer counts as good.
    """
    both = [
        (each.judged_score, each.feedback)
        for each in trajectories
        if each.judged_score is not None and each.feedback is not None
    ]
    return {"compared": len(both), "agreed": sum((score >= 0.5) == (said >= 0) for score, said in both)}


def _mean(numbers: Sequence[float]) -> float | None:
    return round(sum(numbers) / len(numbers), 4) if numbers else None
