"""Task profile of a message: task type, keywords, complexity, and how sure the classifier is."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, cast

from sophon.lazy_dataclass import dataclass
from sophon.learning.classification import classify
from sophon.learning.complexity import complexity as prompt_complexity
from sophon.learning.complexity_factors import complexity_factors
from sophon.task_types import ComplexityMeasure, TaskType


@dataclass(frozen=True, slots=True)
class TaskProfile:
    """What classification found out about a message. Complexity and confidence are 0 to 1.

    `method` names the classifier that found the type: `keywords` or `examples`.
    """

    task_type: TaskType = "chat"
    keywords: tuple[str, ...] = ()
    complexity: float = 0.0
    confidence: float = 1.0
    method: str = "keywords"
    factors: Mapping[str, float] = field(default_factory=dict[str, float])

    def to_json(self) -> dict[str, Any]:
        """Return the profile as JSON data."""
        return {
            "task_type": self.task_type,
            "keywords": list(self.keywords),
            "complexity": self.complexity,
            "confidence": self.confidence,
            "method": self.method,
            "factors": dict(self.factors),
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
        )


def profile_task(
    text: str, *, whole_words: bool = True, measure: ComplexityMeasure = "Prompt", complexity_boost: float = 0.0
) -> TaskProfile:
    """Return the profile of a message by keywords, with its complexity by the measure.

    The boost is added to the complexity, which stays 0 to 1. Only `Factors` has a confidence below 1.
    """
    classified = classify(text, whole_words=whole_words, complexity_boost=complexity_boost)
    kind, keywords = classified.task_type, classified.keywords
    if measure == "Keywords":
        return TaskProfile(kind, keywords, classified.complexity)
    if measure == "Prompt":
        return TaskProfile(kind, keywords, _clamp(prompt_complexity(text) + complexity_boost))
    found = complexity_factors(text)
    return TaskProfile(
        kind, keywords, _clamp(found.score + complexity_boost), found.confidence, factors=dict(found.factors)
    )


def _clamp(value: float) -> float:
    return min(max(value, 0.0), 1.0)
