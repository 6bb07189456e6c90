"""Task profile of a message: task type, keywords, complexity, and how sure the classifier is."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.learning.clawft_complexity import complexity as prompt_complexity
from sophon.learning.complexity_tiers import TIER_BORDER
from sophon.learning.keyword_classifier import classify
from sophon.learning.message_complexity import complexity_factors, measure_confidence
from sophon.task_types import ComplexityMeasure, TaskType


@dataclass(frozen=True, slots=True)
class TaskProfile:
    """What classification found out about a message. Complexity and confidence are 0 to 1.

    `method` names the classifier that found the type: `keywords` or `examples`. `boost` was added to the complexity.
    """

    task_type: TaskType = "chat"
    keywords: tuple[str, ...] = ()
    complexity: float = 0.0
    confidence: float = 1.0
    method: str = "keywords"
    factors: Mapping[str, float] = field(default_factory=dict[str, float])
    boost: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the profile as JSON data."""
        return {
            "task_type": self.task_type,
            "keywords": list(self.keywords),
            "complexity": self.complexity,
            "confidence": self.confidence,
            "method": self.method,
            "factors": dict(self.factors),
            "boost": self.boost,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "TaskProfile":
        """Parse the output of `to_json`."""
        return cls(
            cast(TaskType, data["task_type"]),
            tuple(data["keywords"]),
            float(data["complexity"]),
            float(data["confidence"]),
            str(data["method"]),
            dict(data["factors"]),
            boost=float(data["boost"]),
        )


def profile_task(
    text: str,
    *,
    whole_words: bool = True,
    measure: ComplexityMeasure = "Factors",
    complexity_boost: float = 0.0,
    borders: Sequence[float] = (TIER_BORDER,),
) -> TaskProfile:
    """Return the profile of a message by keywords, with its complexity by the measure.

    The boost is added to the complexity, which stays 0 to 1. Only `Factors` has a confidence below 1: that the message
    needs no tier beyond the next of the `borders`; the published formulas have none.
    """
    classified = classify(text, whole_words=whole_words, complexity_boost=complexity_boost)
    kind, keywords = classified.task_type, classified.keywords
    if measure == "Keywords":
        return TaskProfile(kind, keywords, classified.complexity, boost=complexity_boost)
    if measure == "Prompt":
        return TaskProfile(kind, keywords, _clamp(prompt_complexity(text) + complexity_boost), boost=complexity_boost)
    found = complexity_factors(text, borders=borders)
    score, confidence = found.score, found.confidence
    if complexity_boost:
        score = _clamp(score + complexity_boost)
        confidence = measure_confidence(score, borders, found.factors["ambiguity"])
    return TaskProfile(kind, keywords, score, confidence, factors=dict(found.factors), boost=complexity_boost)


def _clamp(value: float) -> float:
    return min(max(value, 0.0), 1.0)
