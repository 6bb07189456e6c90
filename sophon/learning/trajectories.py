"""Trajectories: what a finished turn was asked, how it was routed and answered, and how well. Source: clawft.md 3.7."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, Final

from sophon.lazy_dataclass import dataclass
from sophon.learning.fitness import Fitness

POOR_BELOW: Final = 0.6
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

    `quality` is 0 to 1: the overall score, or what people said about the answer, too; `feedback` is the mean of their
    signals, -1 to 1, None without any. The cost is in micro-USD, None if it is unknown.
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
    quality: float = 0.0
    cost_micro_usd: int | None = None
    duration_ms: int = 0
    output_tokens: int = 0
    feedback: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values; the time in UTC."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return found | {
            "at": self.at.astimezone(UTC).isoformat(timespec="microseconds"),
            "tools": list(self.tools),
            "scores": dict(self.scores or {}),
        }


def scores_to_json(score: Fitness) -> dict[str, float]:
    """Return the scores by dimension, rounded to four places."""
    return {field.name: round(float(getattr(score, field.name)), 4) for field in fields(score)}


def rate_quality(score: float, signals: Sequence[float]) -> float:
    """Return the quality of an answer: its score by form, which weighs 0.3 as soon as people have said what they think.

    Signals are -1 (bad) to 1 (good).
    """
    if not signals:
        return score
    said = (sum(signals) / len(signals) + 1) / 2
    return min(max((1 - SAID_SHARE) * score + SAID_SHARE * said, 0.0), 1.0)


def needs_evolution(poor: int, recorded: int) -> bool:
    """Return whether the prompts are worth changing, as published: from 10 poor on, at every 50th trajectory."""
    return poor >= EVOLUTION_POOR and recorded % EVOLUTION_INTERVAL == 0


def count_poor(trajectories: Sequence[Trajectory], poor_below: float = POOR_BELOW) -> int:
    """Return the number of poor trajectories; one that people rejected counts `POOR_PER_THUMBS_DOWN` more."""
    poor = sum(each.quality < poor_below for each in trajectories)
    rejected = sum(each.feedback is not None and each.feedback < 0 for each in trajectories)
    return poor + POOR_PER_THUMBS_DOWN * rejected


def describe_scores(scores: Mapping[str, float]) -> str:
    """Return the scores in words, with the dimensions that are low."""
    shown = ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
    low = [name for name, value in scores.items() if name != "overall" and value < LOW_DIMENSION]
    return f"{shown}; low: {', '.join(low)}" if low else shown


def summarize(trajectories: Sequence[Trajectory], poor_below: float, good_from: float) -> dict[str, Any]:
    """Return counts of the trajectories, and their mean quality in all and per task type."""
    types = Counter(each.task_type for each in trajectories)
    return {
        "count": len(trajectories),
        "good": sum(each.quality >= good_from for each in trajectories),
        "poor": sum(each.quality < poor_below for each in trajectories),
        "rated": sum(each.feedback is not None for each in trajectories),
        "quality": _mean([each.quality for each in trajectories]),
        "task_types": {
            name: _mean([each.quality for each in trajectories if each.task_type == name]) for name in sorted(types)
        },
    }


def _mean(numbers: Sequence[float]) -> float | None:
    return round(sum(numbers) / len(numbers), 4) if numbers else None
