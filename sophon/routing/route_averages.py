"""The moving averages as routing uses them: those of the store, and what this process has observed since."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.learning.trajectories import SAID_SHARE
from sophon.stores.route_averages.route_average import RouteAverage, RouteObservation

MIN_SAMPLES: Final = 5
"""Judged answers of a tier and task type before its quality counts; until then complexity decides."""


@dataclass(frozen=True, slots=True)
class TierQuality:
    """Average quality of a tier for a task type, and the number of scored turns behind it."""

    quality: float
    scored: int


class RouteAverages:
    """Moving averages by model, tier and task type, in memory; one that has expired is not used."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._averages: dict[tuple[str, str, str], RouteAverage] = {}

    def load(self, averages: Iterable[RouteAverage]) -> None:
        """Take over the averages of the store, which contain what all processes have observed."""
        self._averages = {average.key: average for average in averages}

    def add(self, observations: Sequence[RouteObservation]) -> None:
        """Apply observations."""
        for each in observations:
            key = (each.model, each.tier, each.task_type)
            self._averages[key] = (self._averages.get(key) or RouteAverage(*key)).observe(each)

    def list_all(self) -> list[RouteAverage]:
        """Return all averages, ordered by model, tier and task type."""
        return [self._averages[key] for key in sorted(self._averages)]

    def find_quality(self, tier: str, task_type: str) -> TierQuality:
        """Return the quality of a tier's models for a task type, each weighted by its number of turns.

        What people said weighs 0.7, less before there are `MIN_SAMPLES` of it: see `judge_quality`.
        """
        scored = rated = 0
        form = said = 0.0
        now = self._now()
        for (_, of_tier, of_type), average in self._averages.items():
            if of_tier == tier and of_type == task_type and not average.is_expired(now):
                scored, form = scored + average.scored, form + (average.quality or 0.0) * average.scored
                rated, said = rated + average.rated, said + (average.said or 0.0) * average.rated
        quality = judge_quality(form / scored if scored else None, said / rated if rated else None, rated)
        return TierQuality(quality, max(scored, rated))

    def clear(self) -> None:
        """Forget all."""
        self._averages.clear()


def judge_quality(form: float | None, said: float | None, rated: int) -> float:
    """Return the quality of answers from their mean score by form and the mean of what people said, both 0 to 1.

    Few answers are rated, so that an average of single qualities would hardly know what people think: nearly all of it
    would be the form of answers of which nobody said anything. Therefore people weigh `SAID_SHARE` here too, from
    `MIN_SAMPLES` ratings on, and before in proportion to their number. Without either the quality is 0.
    """
    if form is None or said is None:
        return said or form or 0.0
    share = SAID_SHARE * min(rated / MIN_SAMPLES, 1.0)
    return (1 - share) * form + share * said
