"""In-memory times of rate-limited events."""

from collections import deque
from collections.abc import Sequence
from datetime import datetime

from sophon.stores.rate_windows.contract import RateEvent

MAX_EVENTS = 50_000
"""Events that are kept. Without a host nothing deletes old ones, and the windows in memory do not need them."""


class InMemoryRateWindowStore:
    """The rate windows of an `InMemoryStore`; see `RateWindowStore`."""

    def __init__(self) -> None:
        self._events: deque[RateEvent] = deque()
        self._times: dict[str, deque[datetime]] = {}

    async def add(self, events: Sequence[RateEvent]) -> None:
        """See `RateWindowStore.add`."""
        self.put(events)

    def put(self, events: Sequence[RateEvent]) -> None:
        """Add events."""
        for event in events:
            self._events.append(event)
            self._times.setdefault(event.scope, deque()).append(event.at)
        while len(self._events) > MAX_EVENTS:
            self._drop_oldest()

    async def load(self, scope: str, since: datetime, limit: int) -> list[datetime]:
        """See `RateWindowStore.load`."""
        newest = list(self._times.get(scope, ()))[-limit:] if limit > 0 else []
        return sorted(at for at in newest if at > since)

    async def expire(self, before: datetime) -> int:
        """See `RateWindowStore.expire`."""
        kept = [event for event in self._events if event.at >= before]
        deleted = len(self._events) - len(kept)
        self._events.clear()
        self._times.clear()
        self.put(kept)
        return deleted

    def _drop_oldest(self) -> None:
        scope = self._events.popleft().scope
        times = self._times[scope]
        times.popleft()
        if not times:
            del self._times[scope]
