"""Classifier of messages: by keywords, or by the similarity to labelled examples."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from sophon.errors import BudgetExceeded
from sophon.learning.complexity_tiers import TIER_BORDER
from sophon.learning.contract import Embedder, Vector
from sophon.learning.task_profile import TaskProfile, profile_task
from sophon.settings.sections.routing import ClassificationSettings
from sophon.task_types import TaskType

log = logging.getLogger("sophon")

EXAMPLES: Final[Mapping[TaskType, tuple[str, ...]]] = {
    "code_generation": (
        "write a function that parses a date",
        "the program crashes with a null pointer, repair it",
        "add a unit test for this class",
        "refactor this module",
    ),
    "code_review": (
        "look over my pull request and tell me what is wrong",
        "are there security problems in this code",
        "is this implementation correct",
    ),
    "research": (
        "what is known about the history of this town",
        "find recent papers on battery chemistry",
        "which laws apply to drones in Austria",
    ),
    "creative": (
        "write a short story about a lighthouse",
        "a birthday poem for my sister",
        "think of a name for my cat",
    ),
    "analysis": (
        "compare these two offers and tell me which is better",
        "summarise this report in three sentences",
        "explain why the sky is blue",
    ),
    "tool_use": (
        "run the backup script",
        "send this file to my colleague",
        "switch off the lights in the kitchen",
    ),
    "chat": (
        "hello, how are you",
        "thank you very much",
        "good morning",
        "what time is it",
    ),
}
"""Labelled examples that Sophon ships; settings add to them."""
MIN_SIMILARITY: Final = 0.5
"""Similarity of the nearest example below which it says nothing, and keywords decide."""


class Classifier:
    """Profiles messages by the settings. Without an embedder, or if it fails, keywords decide; that is logged once."""

    def __init__(
        self,
        settings: ClassificationSettings,
        embedder: Embedder | None = None,
        *,
        borders: Sequence[float] = (TIER_BORDER,),
    ) -> None:
        self._settings, self._borders = settings, borders
        self._embedder = embedder if settings.method == "Examples" else None
        self._labels: list[TaskType] = []
        self._vectors: list[Sequence[float]] = []
        if settings.method == "Examples" and embedder is None:
            log.warning("Routing.Classification.Method is Examples, and there is no embedder: keywords decide")

    @property
    def uses_examples(self) -> bool:
        """Whether `profile` needs the vector of the message."""
        return self._embedder is not None

    def profile(self, text: str, vector: Vector | None = None, *, complexity_boost: float = 0.0) -> TaskProfile:
        """Return the profile of a message; `vector` is its embedding, which is needed to use the examples."""
        options = self._settings
        found = profile_task(
            text,
            whole_words=options.whole_words,
            measure=options.complexity,
            complexity_boost=complexity_boost,
            borders=self._borders,
        )
        if vector is None or not self._vectors:
            return found
        similarities = [_cosine(vector, each) for each in self._vectors]
        best = max(range(len(similarities)), key=similarities.__getitem__)
        similarity = min(max(similarities[best], 0.0), 1.0)
        if similarity < MIN_SIMILARITY:
            return found
        return replace(found, task_type=self._labels[best], method="examples")

    async def load(self) -> None:
        """Embed the examples, once."""
        if self._embedder is None or self._vectors:
            return
        labelled: dict[TaskType, list[str]] = {
            kind: [*EXAMPLES[kind], *self._settings.examples.get(kind, ())] for kind in EXAMPLES
        }
        texts = [text for group in labelled.values() for text in group]
        try:
            vectors = await self._embedder.embed(texts)
        except BudgetExceeded:  # of this person; the examples of the next one may be paid for
            return
        except Exception as error:  # noqa: BLE001 - an embedder may raise anything; messages are classified all the same
            log.warning("the examples could not be embedded, keywords decide: %s", error)
            self._embedder = None
            return
        self._labels = [kind for kind, group in labelled.items() for _ in group]
        self._vectors = [_normalize(vector) for vector in vectors]


def _cosine(vector: Vector, normal: Sequence[float]) -> float:
    length = math.sqrt(sum(float(each) * float(each) for each in vector))
    return sum(float(a) * b for a, b in zip(vector, normal, strict=True)) / length if length else 0.0


def _normalize(vector: Vector) -> list[float]:
    values = [float(each) for each in vector]
    length = math.sqrt(sum(each * each for each in values))
    return [each / length for each in values] if length else values
