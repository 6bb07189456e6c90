"""In-memory moving averages of routing."""

from collections.abc import Sequence

from sophon.stores.route_averages.contract import MAX_KEYS, RouteAverage, RouteObservation


class InMemoryRouteAverageStore:
    """The moving averages of an `InMemoryStore`; see `RouteAverageStore`."""

    def __init__(self) -> None:
        self._averages: dict[tuple[str, str, str], RouteAverage] = {}

    async def add(self, observations: Sequence[RouteObservation]) -> None:
        """See `RouteAverageStore.add`."""
        self.put(observations)

    def put(self, observations: Sequence[RouteObservation]) -> None:
        """Apply observations."""
        for each in observations:
            key = (each.model, each.tier, each.task_type)
            # Deleted and inserted again, so that the first one is the one that was updated longest ago.
            average = self._averages.pop(key, None) or RouteAverage(*key)
            self._averages[key] = average.observe(each)
            if len(self._averages) > MAX_KEYS:
                del self._averages[next(iter(self._averages))]

    async def list_all(self) -> list[RouteAverage]:
        """See `RouteAverageStore.list_all`."""
        return [self._averages[key] for key in sorted(self._averages)]

    async def reset(self) -> int:
        """See `RouteAverageStore.reset`."""
        count = len(self._averages)
        self._averages.clear()
        return count
