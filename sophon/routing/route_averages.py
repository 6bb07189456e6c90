"""The moving averages as routing uses them: those of the store, and what this process has observed since."""

from collections.abc import Iterable, Sequence

from sophon.lazy_dataclass import dataclass
from sophon.stores.route_averages.contract import RouteAverage, RouteObservation


@dataclass(frozen=True, slots=True)
class TierQuality:
    """Average quality of a tier for a task type, and the number of turns behind it."""

    quality: float
    scored: int


class RouteAverages:
    """Moving averages by model, tier and task type, in memory."""

    def __init__(self) -> None:
        self._averages: dict[tuple[str, str, str], RouteAverage] = {}

    def load(self, averages: Iterable[RouteAverage]) -> None:
        """Take over averages of the store; what was observed here meanwhile stays."""
        for average in averages:
            self._averages.setdefault(average.key, average)

    def add(self, observations: Sequence[RouteObservation]) -> None:
        """Apply observations."""
        for each in observations:
            key = (each.model, each.tier, each.task_type)
            self._averages[key] = (self._averages.get(key) or RouteAverage(*key)).observe(each)

    def list_all(self) -> list[RouteAverage]:
        """Return all averages, ordered by model, tier and task type."""
        return [self._averages[key] for key in sorted(self._averages)]

    def find_quality(self, tier: str, task_type: str) -> TierQuality:
        """Return the quality of a tier's models for a task type, each weighted by its number of turns."""
        weighted, scored = 0.0, 0
        for (_, of_tier, of_type), average in self._averages.items():
            if of_tier == tier and of_type == task_type and average.quality is not None:
                weighted += average.quality * average.scored
                scored += average.scored
        return TierQuality(weighted / scored if scored else 0.0, scored)

    def clear(self) -> None:
        """Forget all."""
        self._averages.clear()
